/** Connector profiles that pipelines name: with the endpoints and parameters that they use, which answer rows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Uses {
  readonly query: Set<string>;
  readonly uri: Set<string>;
  readonly header: Set<string>;
}

interface Input {
  profile?: unknown;
  endpoint?: unknown;
  queryParams?: unknown;
  uriParams?: unknown;
  headerParams?: unknown;
}

type Components = Record<string, { parameters?: Record<string, unknown> }>;

/** The text of a profile for all uses of it in the files of a folder. */
export function renderProfile(profile: string, root: string, files: readonly string[]): string {
  const endpoints = new Map<string, Uses>();
  for (const path of files.filter((each) => each.endsWith('.orch.yaml'))) {
    const text = readFileSync(join(root, path), 'utf8');
    if (!text.includes(profile)) continue;
    let content: { pipeline?: { components?: Components } } | null;
    try {
      content = parse(text);
    } catch {
      continue;
    }
    for (const component of Object.values(content?.pipeline?.components ?? {}))
      for (const each of Object.values(component?.parameters ?? {}))
        addUse(endpoints, profile, each as Input | null);
  }
  return JSON.stringify({
    name: profile,
    alternateId: profile,
    endpoints: [...endpoints].map(([name, { query, uri, header }]) => ({
      id: name,
      name,
      url: `https://api.example.com/rows${[...uri].map((each) => `/{${each}}`).join('')}`,
      httpMethod: 'GET',
      auth: 'NONE',
      authenticationOptions: ['NONE', 'BASIC', 'BEARER'].map((type) => ({ type, parameters: [] })),
      paging: { type: 'none' },
      queryParameters: toParameters(query),
      uriParameters: toParameters(uri),
      headerParameters: toParameters(header),
      structure: { repeatingElementPath: ['items'] },
    })),
  });
}

const toParameters = (names: ReadonlySet<string>) =>
  [...names].map((name) => ({ name, value: null, required: false }));

function addUse(endpoints: Map<string, Uses>, profile: string, input: Input | null): void {
  if (input?.profile !== profile || typeof input.endpoint !== 'string') return;
  const uses = endpoints.get(input.endpoint) ?? { query: new Set(), uri: new Set(), header: new Set() };
  endpoints.set(input.endpoint, uses);
  addNames(uses.query, input.queryParams);
  addNames(uses.uri, input.uriParams);
  addNames(uses.header, input.headerParams);
}

/** Of `[{name, value}]`, `[[name, value]]` and `{name: value}`. */
function addNames(names: Set<string>, written: unknown): void {
  if (typeof written !== 'object' || written === null) return;
  const list = Array.isArray(written) ? written : Object.keys(written).map((name) => ({ name }));
  for (const each of list) {
    const name = Array.isArray(each) ? each[0] : (each as { name?: unknown } | null)?.name;
    if (typeof name === 'string') names.add(name);
  }
}
