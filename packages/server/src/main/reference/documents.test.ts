/** The documents at /docs: all links lead somewhere, and the JSON Schemas accept what Headgate accepts. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it, test } from 'node:test';
import { createPipelineSchema, findDefinition, listComponentTypes } from '@headgate/pipelines';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({});
const get = (url: string) => server.transport({ method: 'GET', url, headers: {}, body: undefined });

test('every link from a page leads to a place on a page', async () => {
  const pages = new Map<string, string>();
  const links: [page: string, href: string, target: URL][] = [];
  const open = ['/docs'];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (pages.has(path)) continue;
    const { status, text } = await get(path);
    assert.equal(status, 200, path);
    pages.set(path, text);
    if (/\.(?:css|js|json)$/.test(path)) continue;
    for (const [, href = ''] of text.matchAll(/<(?:a|link) [^>]*href="([^"]+)"/g)) {
      const target = new URL(href.replaceAll('&amp;', '&'), `http://host${path}`);
      if (target.host !== 'host') continue;
      links.push([path, href, target]);
      open.push(target.pathname);
    }
  }
  const broken = links.filter(
    ([, , { pathname, hash }]) =>
      hash !== '' && pages.get(pathname)?.includes(`id="${decodeURIComponent(hash.slice(1))}"`) !== true,
  );
  assert.deepEqual(
    broken.map(([page, href]) => `${page}: ${href}`),
    [],
  );
  const types = [...listComponentTypes('orchestration'), ...listComponentTypes('transformation')];
  for (const type of types) assert.ok(pages.has(`/docs/pipelines/components/${type}`), type);
});

const examples = new URL('../../../../../examples/', import.meta.url);
const ajv = new Ajv2020({ strict: false, allErrors: true });

for (const kind of ['orchestration', 'transformation'] as const) {
  describe(`the JSON Schema of an ${kind}`, () => {
    const validate = ajv.compile(createPipelineSchema(kind));
    const listErrors = (value: unknown) =>
      validate(value) ? [] : (validate.errors ?? []).map(({ instancePath }) => instancePath);
    const wrap = (component: unknown) => ({
      type: kind,
      version: '1.0',
      pipeline: { components: { It: component } },
    });

    for (const file of globSync(`**/*.${kind.slice(0, 4)}.yaml`, { cwd: examples })) {
      it(`accepts ${file}`, () => {
        assert.deepEqual(listErrors(parse(readFileSync(new URL(file, examples), 'utf8'))), []);
      });
    }
    for (const type of listComponentTypes(kind)) {
      it(`accepts the example of ${type}`, () => {
        assert.deepEqual(listErrors(wrap(parse(findDefinition(type)?.example ?? ''))), []);
      });
    }
    it('refuses unknown types, missing parameters and wrong words, and names the place', () => {
      const wrong: [object, string][] = [
        [{ type: 'no-such-type' }, '/pipeline/components/It/type'],
        [{}, '/pipeline/components/It'],
        kind === 'orchestration'
          ? [{ type: 'if', parameters: { mode: 'Clever' } }, '/pipeline/components/It/parameters/mode']
          : [
              { type: 'filter', parameters: { filterConditions: [], combineCondition: 'Xor' } },
              '/pipeline/components/It/parameters/combineCondition',
            ],
        kind === 'orchestration'
          ? [{ type: 'sql-script', parameters: {} }, '/pipeline/components/It/parameters']
          : [{ type: 'sql', parameters: {} }, '/pipeline/components/It/parameters'],
      ];
      for (const [component, place] of wrong)
        assert.ok(listErrors(wrap(component)).includes(place), `${place}: ${listErrors(wrap(component))}`);
    });
  });
}
