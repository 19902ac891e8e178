/** Serves pages of rows, from a process of its own. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const rowsOfPage = 100;

function renderPage(page: number, pages: number): string {
  const data = Array.from({ length: rowsOfPage }, (_, row) => {
    const id = page * rowsOfPage + row;
    return {
      id,
      name: `order ${id}`,
      amount: (id % 997) / 4,
      open: id % 3 === 0,
      at: '2026-01-01T00:00:00Z',
      lines: [{ sku: `s${id % 7}`, n: 1 }],
    };
  });
  return JSON.stringify({ data, next: page + 1 < pages ? `/orders?page=${page + 1}&pages=${pages}` : null });
}

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://api');
  response.setHeader('content-type', 'application/json');
  response.end(renderPage(Number(searchParams.get('page')), Number(searchParams.get('pages'))));
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
