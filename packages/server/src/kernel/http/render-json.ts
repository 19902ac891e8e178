/** Renders responses in slices, so that no other request waits for a large one (docs/adr/0076). */
import { createSlices } from '../event-loop.ts';

/**
 * The text of `JSON.stringify`. Yields to the event loop every 10 ms, between members of the body and between items of
 * its lists. One item is not divided: it is at most what one request can write.
 */
export async function renderJson(body: object): Promise<string> {
  const endSlice = createSlices();

  async function render(value: unknown): Promise<string | undefined> {
    const text = JSON.stringify(value);
    await endSlice();
    return text;
  }

  async function renderList(list: readonly unknown[]): Promise<string> {
    const items: string[] = [];
    for (const item of list) items.push((await render(item)) ?? 'null');
    return `[${items.join(',')}]`;
  }

  if (Array.isArray(body)) return renderList(body);
  const members: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const text = Array.isArray(value) ? await renderList(value) : await render(value);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(',')}}`;
}
