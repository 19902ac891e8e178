/** Test process that allocates more and more memory and reports its size. */
const kept: Buffer[] = [];
const grow = () => {
  kept.push(Buffer.alloc(4 * 1024 * 1024, kept.length));
  process.send?.(process.memoryUsage.rss() / 1024 / 1024, undefined, undefined, () => setImmediate(grow));
};
grow();
