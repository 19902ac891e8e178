/** The places of a request that hold a string, and the request with another text there. */
import type { Described, Schema } from '../fuzz/document.ts';
import { asciiShapes, bodyShapes, harmlessBody, type Shape, shapes } from './shapes.ts';

/** A request that succeeds, as the examples of the slices make it. */
export interface Template {
  method: string;
  /** From /dpc on. */
  url: string;
  headers: Record<string, string>;
  body?: unknown;
  /** Sent in place of the body as JSON. */
  rawBody?: string;
  parts?: readonly { name: string; content: string }[];
}

/** Where a text goes. */
export interface Slot {
  name: string;
  /** The longest text, in characters. */
  most: number;
  shapes: Readonly<Record<string, Shape>>;
  /** Without it, words. */
  harmless?: Shape;
  put(template: Template, text: string): Template;
}

const mebibyte = 1_048_576;
/** The largest file of an upload. */
export const fileBytes = 5 * mebibyte;
/** The largest body in JSON. */
const bodyBytes = 8 * mebibyte;
/** A request line or header of Node.js holds 16 KiB with all other headers. */
const lineCharacters = 12_000;
/** Deeper members are inside of documents of the caller's own form. */
const deepest = 6;

export function listSlots(operation: Described, template: Template): Slot[] {
  return [
    ...listPathSlots(template),
    ...listParameterSlots(operation),
    ...listBodySlots(operation),
    ...listFileSlots(template),
  ];
}

function listPathSlots(template: Template): Slot[] {
  const [path = '', ...query] = template.url.split('?');
  const pieces = path.split('/');
  // The first pieces are /dpc/v1 and the collection.
  return pieces.slice(4).map((_, index) => ({
    name: `path piece ${index + 4}`,
    most: lineCharacters,
    shapes,
    put: (template, text) => ({
      ...template,
      url: [pieces.with(index + 4, encode(text)).join('/'), ...query].join('?'),
    }),
  }));
}

function listParameterSlots({ parameters }: Described): Slot[] {
  return parameters.flatMap(({ name, in: place, schema }): Slot[] => {
    const most = Math.min(schema.maxLength ?? lineCharacters, lineCharacters);
    if (place === 'query')
      return [
        {
          name: `query.${name}`,
          most,
          shapes,
          put(template, text) {
            const [path = '', query = ''] = template.url.split('?');
            const others = query.split('&').filter((each) => each !== '' && !each.startsWith(`${name}=`));
            return { ...template, url: `${path}?${[...others, `${name}=${encode(text)}`].join('&')}` };
          },
        },
      ];
    if (place !== 'header') return [];
    return [
      {
        name: `header ${name}`,
        most,
        shapes: asciiShapes,
        put: (template, text) => ({
          ...template,
          headers: { ...template.headers, [name.toLowerCase()]: text.trim() },
        }),
      },
    ];
  });
}

/** Percent-encoded, cut to the longest request line. */
function encode(text: string): string {
  return encodeURIComponent(text).slice(0, lineCharacters).replace(/%.?$/, '');
}

function listBodySlots({ body, mediaType }: Described): Slot[] {
  if (body === undefined || mediaType === 'multipart/form-data') return [];
  const found = new Map<string, Slot>();
  collectStrings(body, [], (path, most) => {
    const name = `body.${path.join('.')}`;
    if (found.has(name)) return;
    found.set(name, {
      name,
      most: Math.min(most, mebibyte),
      shapes,
      put: (template, text) => ({ ...template, body: putAt(template.body ?? {}, path, text) }),
    });
  });
  const whole: Slot = {
    name: 'body',
    most: bodyBytes,
    shapes: bodyShapes,
    harmless: harmlessBody,
    put: (template, text) => ({ ...template, rawBody: text }),
  };
  return [whole, ...found.values()];
}

type Path = readonly (string | number)[];

function collectStrings(schema: Schema, path: Path, found: (path: Path, most: number) => void): void {
  if (path.length > deepest) return;
  for (const each of schema.anyOf ?? []) collectStrings(each, path, found);
  if (schema.type === 'string') found(path, schema.maxLength ?? mebibyte);
  if (schema.type === 'array') collectStrings(schema.items ?? {}, [...path, 0], found);
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    collectStrings(member, [...path, name], found);
  if (typeof schema.additionalProperties === 'object')
    collectStrings(schema.additionalProperties, [...path, 'member'], found);
  // A member of any shape holds a string too.
  if (schema.type === undefined && schema.anyOf === undefined && path.length > 0) found(path, mebibyte);
}

function putAt(value: unknown, [step, ...rest]: Path, text: string): unknown {
  if (step === undefined) return text;
  if (typeof step === 'number') {
    const list = Array.isArray(value) ? value : [];
    return [putAt(list[0], rest, text), ...list.slice(1)];
  }
  const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  return { ...members, [step]: putAt((members as Record<string, unknown>)[step], rest, text) };
}

/** Documents in which the text stands where a reader of pipelines looks. */
const documents: Readonly<Record<string, (text: string) => string>> = {
  'main.orch.yaml': (text) => text,
  'script.orch.yaml': (text) => orchestration('sql-script', { sqlScript: text }),
  'condition.orch.yaml': (text) => orchestration('if', { mode: 'Advanced', condition1: text }),
  'variable.orch.yaml': (text) =>
    `${orchestration('print-variables', { variablesToPrint: ['a'] })}  variables:\n    a:\n      metadata: { type: TEXT }\n      defaultValue: ${JSON.stringify(text)}\n`,
  'query.tran.yaml': (text) =>
    `type: transformation\nversion: "1.0"\npipeline:\n  components:\n    A:\n      type: sql\n      parameters: { componentName: A, query: ${JSON.stringify(text)} }\n`,
  'calculation.tran.yaml': (text) =>
    `type: transformation\nversion: "1.0"\npipeline:\n  components:\n    A:\n      type: calculator\n      parameters: { componentName: A, includeInputColumns: "Yes", calculations: [[${JSON.stringify(text)}, b]] }\n`,
  'any.sql': (text) => text,
  'any.py': (text) => text,
  'any.json': (text) => text,
  '.matillion/config/pipeline_quality_rules.yaml': (text) => text,
};

function orchestration(type: string, parameters: object): string {
  return (
    'type: orchestration\nversion: "1.0"\npipeline:\n  components:\n    Start:\n      type: start\n' +
    `      transitions: { unconditional: [A] }\n    A:\n      type: ${type}\n` +
    `      parameters: ${JSON.stringify({ componentName: 'A', ...parameters })}\n`
  );
}

function listFileSlots(template: Template): Slot[] {
  const { parts } = template;
  if (parts === undefined) return [];
  const files = Object.entries(documents).map(
    ([name, write]): Slot => ({
      name: `file ${name}`,
      most: fileBytes,
      shapes,
      put: (template, text) => ({ ...template, parts: [...parts, { name, content: fit(text, write) }] }),
    }),
  );
  const partName: Slot = {
    name: 'name of a part',
    most: lineCharacters,
    shapes: asciiShapes,
    put: (template, text) => ({
      ...template,
      parts: [...parts, { name: text.replaceAll(/["\\]/g, '_'), content: 'a' }],
    }),
  };
  return [partName, ...files];
}

/** The document with as much of the text as a file may hold. */
function fit(text: string, write: (text: string) => string): string {
  const whole = write(text);
  const over = Buffer.byteLength(whole) - fileBytes;
  return over <= 0
    ? whole
    : write(text.slice(0, Math.max(1, Math.floor((text.length * fileBytes) / (fileBytes + over)) - 1_000)));
}
