//! Frames that never end.

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::child::ChildServer;
use crate::raw_pod::RawPod;
use crate::server::TIMEOUT;

/// Maximum growth of the memory in use, in KiB.
const MAX_GROWTH: u64 = 8 * 1024;

#[actix_web::test]
async fn a_frame_that_never_ends_takes_no_memory() {
    let server = ChildServer::start();
    let mut pod = RawPod::connect(server.address, 1, "raw", 10).await;
    let before = server.resident_kib();
    // It announces an exabyte.
    let header = [&[0x81, 0x80 | 0x7f][..], &(1_u64 << 60).to_be_bytes(), &[0; 4]].concat();
    let part = vec![b'x'; 64 * 1024];
    let stream = pod.socket.get_mut();
    stream.write_all(&header).await.unwrap();

    timeout(TIMEOUT, async {
        while stream.write_all(&part).await.is_ok() {
            let growth = server.peak_kib().saturating_sub(before);
            assert!(growth < MAX_GROWTH, "{growth} KiB");
        }
    })
    .await
    .expect("the end of the connection");
}
