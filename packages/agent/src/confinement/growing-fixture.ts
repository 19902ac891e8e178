/** A process for the tests that takes more and more memory, and says how much it has. */
const kept: Buffer[] = [];
const grow = () => {
  kept.push(Buffer.alloc(4 * 1024 * 1024, kept.length));
  process.send?.(process.memoryUsage.rss() / 1024 / 1024, undefined, undefined, () => setImmediate(grow));
};
grow();
