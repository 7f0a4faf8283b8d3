"""The lesson *The produce path*."""
