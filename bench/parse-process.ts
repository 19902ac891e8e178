/** Reads all pages of an API by `fetch` and only parses them, from a process of its own. */
interface Page {
  data: unknown[];
  next: string | null;
}

async function countRows(first: string): Promise<number> {
  let url: string | undefined = first;
  let count = 0;
  while (url !== undefined) {
    const response: Response = await fetch(url);
    const { data, next } = JSON.parse(await response.text()) as Page;
    count += data.length;
    url = next === null ? undefined : new URL(next, first).href;
  }
  return count;
}

process.on('message', (first: string) => void countRows(first).then((count) => process.send?.(count)));
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
