/** Guard: every response of every route, with any status, has the security headers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '@headgate/contract';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

/**
 * The server's routes, parsed from Fastify's printed tree: four characters for each level, then a part of
 * the path and its methods.
 */
function routes(): { path: string; methods: string[] }[] {
  const parents: string[] = [];
  return server.app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods] =
        /^((?:[│├└ ][─ ]{2} )*)(\S*)(?: \((.*)\))?$/.exec(line) ?? [];
      const depth = indent.length / 4;
      if (depth === 0) return [];
      parents.length = depth - 1;
      parents.push(part);
      return methods === undefined ? [] : [{ path: parents.join(''), methods: methods.split(', ') }];
    });
}

test('every response with a body has nosniff, and every HTML page a content security policy', async () => {
  const found = routes();
  assert.ok(found.length > operations.length / 2, `${found.length} paths`);
  const pages = new Set<string>();
  let bodies = 0;
  const named = ['bad-request', 'x', '%3Cscript%3E', '%ff'];
  const paths = found.flatMap(({ path }) =>
    path.includes(':') ? named.map((name) => path.replaceAll(/:\w+/g, name)) : [path],
  );
  for (const path of [...paths, '/', '/nowhere', '/docs/nowhere', '/problems/nowhere', '/%ff', '//'])
    for (const method of ['GET', 'HEAD', 'POST', 'PUT'] as const)
      for (const accept of ['text/html,application/xhtml+xml,*/*;q=0.8', '*/*']) {
        const answer = await server.app.inject({ method, url: path, headers: { accept } });
        const { 'content-type': type = '', ...headers } = answer.headers;
        const what = `${method} ${path} ${answer.statusCode}`;
        if (answer.body !== '') {
          bodies += 1;
          assert.equal(headers['x-content-type-options'], 'nosniff', what);
        }
        if (!/html/.test(String(type))) continue;
        pages.add(path);
        assert.match(
          String(headers['content-security-policy']),
          /^default-src 'none';.*frame-ancestors 'none'/,
          what,
        );
        assert.doesNotMatch(String(headers['content-security-policy']), /unsafe|\*/, what);
      }
  assert.ok(bodies > found.length, `${bodies} answers`);
  for (const page of ['/docs', '/problems', '/problems/bad-request']) assert.ok(pages.has(page), page);
});
