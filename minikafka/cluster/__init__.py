"""One partition with its replicas: leader and followers, the in-sync replicas, and the high watermark they allow."""
