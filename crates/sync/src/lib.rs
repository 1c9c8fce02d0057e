//! What devices keep in step through the server, and chats as stored things.
