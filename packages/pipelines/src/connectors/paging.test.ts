import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextPage, type PageResponse, startPaging } from './paging.ts';
import type { Paging } from './profile.ts';
import { readProfile } from './read-profile.ts';

function readPaging(paging: object): Paging {
  const read = readProfile({
    name: 'p',
    endpoints: [{ name: 'e', url: 'https://api.example.com/a', paging }],
  });
  assert.deepEqual(read.findings, []);
  return read.profile?.endpoints[0]?.paging as Paging;
}

/** The parameters, or the address, of each request until the last page. */
function walk(paging: Paging, pages: (Partial<PageResponse> & { rowCount: number })[], rowsPerPage?: number) {
  const asked: unknown[] = [];
  let state = startPaging(paging, rowsPerPage);
  for (const page of pages) {
    asked.push(
      state.page.url ??
        state.page.parameters.map(({ at, value }) =>
          'name' in at ? `${at.name}=${value}` : `${at.path.join('.')}=${value}`,
        ),
    );
    const response = {
      url: 'https://api.example.com/a',
      link: undefined,
      body: {},
      lastRow: undefined,
      ...page,
    };
    const next = nextPage(paging, state, response, rowsPerPage);
    if (next === undefined) return { asked, ended: true };
    state = next;
  }
  return { asked, ended: false };
}

test('without paging there is one page', () => {
  assert.deepEqual(walk(readPaging({ type: 'none' }), [{ rowCount: 5 }]), { asked: [[]], ended: true });
});

test('pages are counted until one is empty, is not full, or the total is reached', () => {
  const sized = readPaging({ type: 'page', sizeParameter: 'per_page', size: 2 });
  assert.deepEqual(walk(sized, [{ rowCount: 2 }, { rowCount: 1 }]), {
    asked: [
      ['per_page=2', 'page=1'],
      ['per_page=2', 'page=2'],
    ],
    ended: true,
  });
  assert.deepEqual(walk(sized, [{ rowCount: 3 }, { rowCount: 2 }], 3).asked[0], ['per_page=3', 'page=1']);
  // The API gives fewer rows a page than were asked for.
  const capped = [{ rowCount: 2 }, { rowCount: 2 }, { rowCount: 1 }];
  assert.deepEqual(walk(sized, capped, 500), {
    asked: [1, 2, 3].map((page) => ['per_page=500', `page=${page}`]),
    ended: true,
  });
  const plain = readPaging({ type: 'page', parameter: 'p', first: 0 });
  assert.deepEqual(walk(plain, [{ rowCount: 9 }, { rowCount: 1 }, { rowCount: 0 }]).asked, [
    ['p=0'],
    ['p=1'],
    ['p=2'],
  ]);
  const total = readPaging({ type: 'page', totalPath: 'meta.pages' });
  const body = { meta: { pages: '2' } };
  assert.equal(
    walk(total, [
      { rowCount: 1, body },
      { rowCount: 1, body },
    ]).ended,
    true,
  );
  assert.throws(() => walk(total, [{ rowCount: 1, body: {} }]), /no number at "meta\.pages"/);
});

test('offsets count the rows that came', () => {
  const paging = readPaging({ type: 'offset', sizeParameter: 'limit', size: 10, totalPath: ['total'] });
  const body = { total: 23 };
  const pages = [10, 10, 3].map((rowCount) => ({ rowCount, body }));
  assert.deepEqual(walk(paging, pages), {
    asked: [
      ['limit=10', 'offset=0'],
      ['limit=10', 'offset=10'],
      ['limit=10', 'offset=20'],
    ],
    ended: true,
  });
});

test('a cursor comes from the response or from its last row', () => {
  const paging = readPaging({ type: 'cursor', parameter: 'cursor', path: 'meta.next' });
  const pages = [
    { rowCount: 1, body: { meta: { next: 'b' } } },
    { rowCount: 1, body: { meta: { next: null } } },
  ];
  assert.deepEqual(walk(paging, pages), { asked: [[], ['cursor=b']], ended: true });
  const last = readPaging({
    type: 'cursor',
    parameter: 'starting_after',
    path: 'id',
    from: 'last-row',
    hasMorePath: 'has_more',
  });
  assert.deepEqual(
    walk(last, [
      { rowCount: 1, body: { has_more: true }, lastRow: { id: 7 } },
      { rowCount: 1, body: { has_more: false }, lastRow: { id: 8 } },
    ]),
    { asked: [[], ['starting_after=7']], ended: true },
  );
});

test('a last row without the value that leads on does not end the load', () => {
  const last = readPaging({ type: 'cursor', parameter: 'after', path: 'id', from: 'last-row' });
  assert.throws(
    () => walk(last, [{ rowCount: 1, lastRow: { ID: 7 } }]),
    /the last row of page 1 has no "id", which leads to the next page/,
  );
  assert.equal(walk(last, [{ rowCount: 1, lastRow: { id: 7 } }, { rowCount: 0 }]).ended, true);
});

test('offsets and last rows of a list around lists are refused', () => {
  const page = { rowCount: 2, lastRow: { id: 7 }, isNestedList: true };
  for (const paging of [
    { type: 'offset' },
    { type: 'cursor', parameter: 'after', path: 'id', from: 'last-row' },
  ])
    assert.throws(() => walk(readPaging(paging), [page]), /a list of objects with lists/);
  assert.equal(walk(readPaging({ type: 'page' }), [page, { rowCount: 0 }]).ended, true);
});

test('an API that says that there is more, and not where, does not end the load', () => {
  const cursor = readPaging({ type: 'cursor', parameter: 'c', path: 'next', hasMorePath: 'more' });
  const more = /page 1 says at "more" that there are more pages, but has no way to the next one/;
  assert.throws(() => walk(cursor, [{ rowCount: 1, body: { more: true, next: null } }]), more);
  const counted = readPaging({ type: 'page', hasMorePath: 'more' });
  assert.throws(() => walk(counted, [{ rowCount: 0, body: { more: true } }]), more);
  const offset = readPaging({ type: 'offset', totalPath: 'total' });
  const body = { total: 9 };
  assert.throws(
    () =>
      walk(offset, [
        { rowCount: 3, body },
        { rowCount: 0, body },
      ]),
    /page 2 has no rows, but the API says that it has 9 rows and 3 have come/,
  );
  assert.equal(walk(offset, [{ rowCount: 0 }]).ended, true);
  const pages = readPaging({ type: 'page', totalPath: 'pages' });
  assert.equal(walk(pages, [{ rowCount: 0, body: { pages: 1 } }]).ended, true);
});

test('a link header leads on, also by a relative address', () => {
  const paging = readPaging({ type: 'link-header' });
  const link = '<https://api.example.com/a?page=1>; rel="prev", </a?page=3>; title="x, y"; rel="last next"';
  assert.deepEqual(walk(paging, [{ rowCount: 1, link }, { rowCount: 1 }]), {
    asked: [[], 'https://api.example.com/a?page=3'],
    ended: true,
  });
});

test('a next page on another server is refused by name', () => {
  const paging = readPaging({ type: 'next-url', path: 'next' });
  for (const next of ['http://api.example.com/a', '//evil.example/a', 'https://api.example.com:444/a'])
    assert.throws(
      () => walk(paging, [{ rowCount: 1, body: { next } }]),
      /pages of another server are not read/,
    );
  assert.deepEqual(
    walk(paging, [{ rowCount: 1, body: { next: '?p=2' } }, { rowCount: 0 }]).asked[1],
    'https://api.example.com/a?p=2',
  );
});

test('a token goes into the body', () => {
  const paging = readPaging({ type: 'token-in-body', parameter: 'page.token', path: 'nextPageToken' });
  const pages = [{ rowCount: 1, body: { nextPageToken: 't' } }, { rowCount: 1 }];
  assert.deepEqual(walk(paging, pages), { asked: [[], ['page.token=t']], ended: true });
});

test('a page that points to itself, or into a circle of pages, ends the reading', () => {
  const paging = readPaging({ type: 'cursor', parameter: 'c', path: 'next' });
  const page = (next: string) => ({ rowCount: 1, body: { next } });
  assert.throws(() => walk(paging, [page('a'), page('a')]), /already read \(a\)/);
  const circle = Array.from({ length: 60 }, (_, index) => page(`c${index % 5}`));
  assert.throws(() => walk(paging, circle), /leads in a circle/);
});

test('a total of an earlier page holds when the last page lacks it or says 0', () => {
  const offset = readPaging({ type: 'offset', totalPath: 'total' });
  for (const body of [{}, { total: 0 }])
    assert.throws(
      () =>
        walk(offset, [
          { rowCount: 3, body: { total: 9 } },
          { rowCount: 3, body: { total: 9 } },
          { rowCount: 0, body },
        ]),
      /page 3 has no rows, but the API says that it has 9 rows and 6 have come/,
    );
  // Rows were deleted meanwhile.
  const fewer = [
    { rowCount: 3, body: { total: 9 } },
    { rowCount: 0, body: { total: 3 } },
  ];
  assert.equal(walk(offset, fewer).ended, true);
});

test('a shorter page of lists in a list is not the last one', () => {
  const paging = readPaging({ type: 'page', sizeParameter: 'size', size: 2 });
  const pages = [2, 1, 2, 0].map((rowCount) => ({ rowCount, isNestedList: true }));
  assert.deepEqual(walk(paging, pages).asked.length, 4);
});
