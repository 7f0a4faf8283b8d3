"""The lesson *Background tasks*. Its own piece: `six_customers`."""
