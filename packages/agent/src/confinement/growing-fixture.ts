/** Test process that allocates more and more memory and reports its size. */
const retained: Buffer[] = [];
const grow = () => {
  retained.push(Buffer.alloc(4 * 1024 * 1024, retained.length));
  process.send?.(process.memoryUsage.rss() / 1024 / 1024, undefined, undefined, () => setImmediate(grow));
};
grow();
