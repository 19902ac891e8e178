/** A schema of the contract as a list of members, each with its type, its bounds and what it means. */
import { html, Markup, prose } from './html.ts';

/** The part of JSON Schema that the contract uses. */
export interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  items?: Schema;
  anyOf?: readonly Schema[];
  additionalProperties?: Schema | boolean;
  enum?: readonly string[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

/** From this depth on members are folded away. */
const foldedDepth = 2;

/** The members of an object, or of the alternatives of a union. */
export function shapeView(schema: Schema, depth = 0): Markup | undefined {
  if (schema.anyOf !== undefined) return alternatives(schema.anyOf, depth);
  if (schema.type === 'array' && schema.items !== undefined) return shapeView(schema.items, depth);
  if (schema.properties === undefined) {
    return typeof schema.additionalProperties === 'object'
      ? shapeView(schema.additionalProperties, depth)
      : undefined;
  }
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties).map(([name, member]) =>
    memberView(name, member, { required: required.has(name) && member.default === undefined, depth }),
  );
  return html`<ul class="members">${members}</ul>`;
}

export function memberView(
  name: string,
  schema: Schema,
  { required, depth = 0 }: { required: boolean; depth?: number },
): Markup {
  const inner = shapeView(schema, depth + 1);
  return html`<li><div class="member"><code class="name">${name}</code> <span class="type">${typeOf(schema)}</span>${required ? html` <span class="required">required</span>` : undefined}</div>${notes(schema)}${inner === undefined ? undefined : folded(inner, name, depth + 1)}</li>`;
}

function folded(inner: Markup, name: string, depth: number): Markup {
  if (depth < foldedDepth) return inner;
  return html`<details><summary>Members of <code>${name}</code></summary>${inner}</details>`;
}

function alternatives(schemas: readonly Schema[], depth: number): Markup | undefined {
  const shapes = schemas.map((schema) => ({ schema, shape: shapeView(schema, depth + 1) }));
  if (shapes.every(({ shape }) => shape === undefined)) return undefined;
  const items = shapes.map(
    ({ schema, shape }) =>
      html`<li><div class="member"><span class="type">${typeOf(schema)}</span></div>${notes(schema)}${shape}</li>`,
  );
  return html`<p class="either">One of:</p><ul class="members either">${items}</ul>`;
}

/** `string`, `array of object`, `string or number`. */
export function typeOf(schema: Schema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
  if (schema.type === 'array')
    return `array of ${schema.items === undefined ? 'anything' : typeOf(schema.items)}`;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') {
    return `map of ${typeOf(schema.additionalProperties)}`;
  }
  return schema.type ?? (schema.const === undefined ? 'anything' : JSON.stringify(schema.const));
}

function notes(schema: Schema): Markup | undefined {
  const { description } = schema;
  const bounds = boundsOf(schema);
  if (description === undefined && bounds.length === 0) return undefined;
  const said = description === undefined ? undefined : html`<span>${prose(ended(description))}</span> `;
  const words = bounds.length === 0 ? undefined : html`<span class="bounds">${sentence(bounds)}</span>`;
  return html`<p class="note">${said}${words}</p>`;
}

const ended = (text: string) => (/[.!?…]$/.test(text) ? text : `${text}.`);

/** The bounds as one sentence; each begins with a word. */
function sentence(bounds: readonly Markup[]): Markup {
  const text = bounds.map((bound) => bound.text).join('; ');
  return new Markup(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
}

/** Every bound in words. */
function boundsOf(schema: Schema): Markup[] {
  const inner = schema.type === 'array' && schema.items !== undefined ? schema.items : undefined;
  const bounds = [
    words(schema),
    range(schema.minLength, schema.maxLength, 'character'),
    range(schema.minimum, schema.maximum, ''),
    range(schema.minItems, schema.maxItems, 'item'),
    range(undefined, schema.maxProperties, 'entry'),
    schema.format === undefined ? undefined : html`format ${schema.format}`,
    schema.pattern === undefined ? undefined : html`pattern <code>${schema.pattern}</code>`,
    schema.default === undefined ? undefined : html`default <code>${JSON.stringify(schema.default)}</code>`,
  ].filter((bound) => bound !== undefined);
  const ofItems = inner === undefined ? [] : boundsOf(inner).map((bound) => html`each ${bound}`);
  return [...bounds, ...ofItems];
}

function words({ enum: list }: Schema): Markup | undefined {
  if (list === undefined) return undefined;
  const codes = list.map((word, index) => html`${index === 0 ? '' : ', '}<code>${word}</code>`);
  return html`${list.length === 1 ? 'always ' : 'one of '}${codes}`;
}

const plurals: Record<string, string> = { entry: 'entries' };
const grouped = (value: number) => value.toLocaleString('en');

function range(least: number | undefined, most: number | undefined, unit: string): Markup | undefined {
  if (least === undefined && most === undefined) return undefined;
  const count = most ?? least ?? 0;
  const counted = unit === '' ? '' : ` ${count === 1 ? unit : (plurals[unit] ?? `${unit}s`)}`;
  if (most === undefined) return html`${grouped(count)}${counted} or more`;
  if (least === most) return html`exactly ${grouped(count)}${counted}`;
  if (least === undefined) return html`at most ${grouped(most)}${counted}`;
  return html`${grouped(least)} to ${grouped(most)}${counted}`;
}
