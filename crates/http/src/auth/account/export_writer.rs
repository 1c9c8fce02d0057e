//! Writing of an export while it is read.

use std::error::Error;

use pia_identity::StartedExport;
use pia_web::BodySender;

use super::encoder::Encoder;
use super::manifest::Manifest;

/// Number of buffered bytes at which a chunk is sent.
const EXPORT_CHUNK_BYTES: usize = 32 * 1024;

type Failure = Box<dyn Error + Send + Sync>;

/// Reads page after page and sends the encoded data. Only one page and one
/// chunk are in memory, however slowly the client reads.
pub(super) async fn write_export(
    export: StartedExport,
    mut encoder: Box<dyn Encoder>,
    sender: BodySender,
) -> Result<(), Failure> {
    let mut counts = Vec::new();
    for section in export.inventory.sections.iter().copied() {
        encoder.begin(section)?;
        let mut rows = 0;
        let mut after = None;
        loop {
            let page = export.page(section, after).await?;
            for row in &page.rows {
                encoder.row(row)?;
                rows += 1;
                if encoder.output().len() >= EXPORT_CHUNK_BYTES {
                    sender.send(encoder.output().take()).await?;
                }
            }

            after = page.next;
            if after.is_none() {
                break;
            }
        }

        encoder.end()?;
        counts.push((section, rows));
    }

    encoder.finish(&Manifest::new(&export, &counts))?;
    sender.send(encoder.output().take()).await?;

    Ok(sender.end().await?)
}

#[cfg(test)]
mod tests;
