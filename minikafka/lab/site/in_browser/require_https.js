// Over plain http, but from this machine itself, a browser gives a page no service worker, without which the kernel has
// no files: cells would wait for ever.
if (!isSecureContext) alert("This lesson can be read here, but not run: its cells need an address that begins with https.");
