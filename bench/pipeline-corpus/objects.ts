/**
 * Objects that loads and file iterators look for. A step says that its store has none; then one is supplied whose name
 * matches the pattern, and the run begins again. Its content fits the table that is loaded.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { nameObject, nameStore, PermanentFault, type StoreAddress } from '@headgate/pipelines';
import { parse } from 'yaml';
import { fetchObject } from '../../packages/agent/src/stores/fetched-file.ts';
import type { ObjectStore, StoredObject } from '../../packages/agent/src/stores/object-store.ts';
import type { StoreAccess } from '../../packages/agent/src/stores/store-access.ts';
import { realTime } from '../../packages/agent/src/time.ts';
import type { ObjectUse, Supplies } from './supplies.ts';
import { guessType, renderPlain, rowCount } from './values.ts';

/** The columns of the tables that were read, by the name in lower case; '' for the last one. */
export type KnownTables = ReadonlyMap<string, TableColumns>;
export type TableColumns = readonly (readonly [name: string, type: string])[];

interface StepMessage {
  readonly name: string;
  readonly message?: string;
}

/** Adds the objects that steps did not find. Returns whether any was added. */
export function supplyObjects(
  steps: readonly StepMessage[],
  { objects }: Supplies,
  useOf: (component: string) => ObjectUse,
): boolean {
  let isAdded = false;
  for (const { name, message = '' } of steps) {
    const missing = findMissing(message);
    if (missing === undefined) continue;
    const use = useOf(name);
    const address = nameMissing(missing.prefix, missing.pattern ?? use.pattern);
    if (objects.has(address)) continue;
    objects.set(address, use);
    isAdded = true;
  }
  return isAdded;
}

function findMissing(message: string): { prefix: string; pattern?: string } | undefined {
  const [, prefix, pattern] =
    /^no object that begins with (\S.*?) matches (.*), of \d+ objects?$/m.exec(message) ??
    /^none of the \d+ files in "([a-z]\w*:\/\/[^"]*)" matches (.*)$/m.exec(message) ??
    /^no object begins with (.*)$/m.exec(message) ??
    /^"([a-z]\w*:\/\/[^"]*)" has no files$/m.exec(message) ??
    [];
  if (prefix === undefined) return undefined;
  return { prefix, ...(pattern === undefined ? {} : { pattern }) };
}

function nameMissing(prefix: string, pattern: string): string {
  const name = pattern === '' || pattern.includes('${') ? 'supplied.csv' : renderMatch(pattern);
  const isWhole = /[^/]\.\w+$/.test(prefix.replace(/^[a-z]\w*:\/\/[^/]*/, ''));
  if (isWhole && /^(?:\.\*|supplied\.csv)?$/.test(pattern === '' ? '' : pattern)) return prefix;
  const gap = prefix.endsWith('/') || name.startsWith('/') ? '' : '/';
  return `${prefix}${gap}${name.startsWith('/') && prefix.endsWith('/') ? name.slice(1) : name}`;
}

/** A text that a simple regular expression matches. */
export function renderMatch(pattern: string): string {
  return pattern
    .replaceAll(/^\^|\$$|\(\?[:i]*/g, '')
    .replaceAll(/\(([^()|]*)\|[^()]*\)/g, '$1')
    .replaceAll(/\\d/g, '1')
    .replaceAll(/\\([.\-_/])/g, '$1')
    .replaceAll(/\[(?:0-9|\d)[^\]]*\](?:\{(\d+)[^}]*\})?/g, (_, count = '1') => '1'.repeat(Number(count)))
    .replaceAll(/\[([^\]^])[^\]]*\]/g, '$1')
    .replaceAll(/\.[*+]/g, 'a')
    .replaceAll(/\{\d[^}]*\}|[()*+?]/g, '');
}

/** The stores of one attempt. */
export function createStores({ objects, texts }: Supplies, seed: number, tables: KnownTables): StoreAccess {
  const written = new Map<string, Buffer>();
  const contents = new Map<string, Buffer>();
  function find(store: StoreAddress, key: string): Buffer | undefined {
    return written.get(nameObject({ store, key })) ?? contents.get(nameObject({ store, key }));
  }
  return {
    open: async (store) => createStore(store),
    fetch: (options) =>
      fetchObject({
        ...options,
        bounds: { fileBytes: 1_024 ** 3 },
        time: { ...realTime, date: () => new Date() },
      }),
    convert: async () => {
      throw new Error('the supplied objects are of no format that is converted');
    },
  };

  function createStore(store: StoreAddress): ObjectStore {
    const describe = (key: string, bytes: Buffer): StoredObject => ({
      ...{ key, size: bytes.length, modified: '2026-01-01T00:00:00.000Z', version: String(bytes.length) },
    });
    const require = (key: string): Buffer => {
      const bytes = find(store, key);
      if (bytes !== undefined) return bytes;
      throw new PermanentFault(`no object begins with ${nameObject({ store, key })}`);
    };
    return {
      async *list(prefix) {
        const start = `${nameStore(store)}/`;
        for (const [address, use] of objects) {
          if (!address.startsWith(`${start}${prefix}`)) continue;
          const content = renderObject(use, tables.get(use.table) ?? tables.get('') ?? [], { texts, seed });
          contents.set(address, address.endsWith('.gz') ? gzipSync(content) : Buffer.from(content));
        }
        const all = new Map([...contents, ...written]);
        const found = [...all].filter(([address]) => address.startsWith(`${start}${prefix}`));
        yield found.map(([address, bytes]) => describe(address.slice(start.length), bytes));
      },
      stat: async (key) => describe(key, require(key)),
      read: (key, { from }, _, use) =>
        use(
          (async function* () {
            yield require(key).subarray(from);
          })(),
        ),
      async write(key, body) {
        const parts: Buffer[] = [];
        for await (const part of body) parts.push(part);
        const bytes = Buffer.concat(parts);
        written.set(nameObject({ store, key }), bytes);
        return bytes.length;
      },
      remove: async (key) => {
        written.delete(nameObject({ store, key }));
      },
      copy: async (from, to) => {
        written.set(nameObject({ store, key: to }), require(from));
      },
      close: () => undefined,
    };
  }
}

const generic: TableColumns = ['id', 'name', 'amount'].map((name) => [name, guessType(name)]);

function renderObject(
  use: ObjectUse,
  table: TableColumns,
  { texts, seed }: Pick<Supplies, 'texts'> & { seed: number },
): string {
  const named = use.columns.length === 0 ? table : table.filter(([name]) => hasName(use.columns, name));
  const columns = named.length === 0 ? generic : named;
  const isDocument = use.type === 'JSON' && !use.byName;
  const shown = isDocument ? generic : columns;
  const rows = Array.from({ length: rowCount }, (_, row) =>
    shown.map(([name, type]) => [name, renderPlain(name, type, row, texts, seed)] as const),
  );
  if (use.type === 'JSON') {
    const records = rows.map((row) => JSON.stringify(Object.fromEntries(row)));
    return use.isArray ? `[${records.join(',')}]` : records.join('\n');
  }
  const header = Array.from({ length: use.headerLines }, () =>
    shown.map(([name]) => name.replaceAll(use.delimiter, ' ')).join(use.delimiter),
  );
  const lines = rows.map((row) =>
    row.map(([, value]) => (value.includes(use.delimiter) ? '1' : value)).join(use.delimiter),
  );
  return [...header, ...lines, ''].join('\n');
}

const hasName = (names: readonly string[], name: string) =>
  names.some((each) => each.toLowerCase() === name.toLowerCase());

const standard: ObjectUse = {
  ...{
    pattern: '',
    type: 'CSV',
    delimiter: ',',
    headerLines: 0,
    isArray: false,
    byName: false,
    columns: [],
    table: '',
  },
};

type Parameters = Readonly<Record<string, unknown>>;

/** What the components of a folder with this name say of their objects; the last load or iterator with the name. */
export function readObjectUses(root: string, files: readonly string[]): (component: string) => ObjectUse {
  const uses = new Map<string, ObjectUse>();
  for (const path of files.filter((each) => each.endsWith('.orch.yaml'))) {
    let content: { pipeline?: { components?: Record<string, { type?: unknown; parameters?: Parameters }> } };
    try {
      content = parse(readFileSync(join(root, path), 'utf8'));
    } catch {
      continue;
    }
    for (const [name, component] of Object.entries(content?.pipeline?.components ?? {})) {
      const { type, parameters } = component ?? {};
      if (typeof type === 'string' && /-load$|^file-iterator$/.test(type))
        uses.set(name, readUse(parameters));
    }
  }
  return (component) => uses.get(component) ?? standard;
}

function readUse(parameters: Parameters = {}): ObjectUse {
  const text = (name: string) => (typeof parameters[name] === 'string' ? parameters[name] : '');
  const delimiter = text('fieldDelimiter').replaceAll(/\\+t/g, '\t');
  const { loadColumns } = parameters;
  return {
    pattern: text('pattern') || text('filterRegex'),
    type: /json/i.test(text('fileType')) ? 'JSON' : 'CSV',
    delimiter: delimiter === '' || delimiter.includes('$') ? ',' : delimiter,
    headerLines: Number(text('skipHeader')) || 0,
    isArray: /^(?:true|yes)$/i.test(text('stripOuterArray')),
    byName: /case/i.test(text('matchByColumnName')),
    table: text('targetTable').includes('${') ? '' : text('targetTable').toLowerCase(),
    columns: Array.isArray(loadColumns) ? loadColumns.filter((each) => typeof each === 'string') : [],
  };
}
