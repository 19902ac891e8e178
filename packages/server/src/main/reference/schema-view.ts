/** Renders a schema of the contract as a list of members with type, limits and description. */
import { html, Markup, renderProse } from '../../kernel/http/html.ts';

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

/** Members at this depth or deeper are folded. */
const foldedDepth = 2;

/** The members of an object, or of the alternatives of a union. */
export function renderShape(schema: Schema, depth = 0): Markup | undefined {
  if (schema.anyOf !== undefined) return renderAlternatives(schema.anyOf, depth);
  if (schema.type === 'array' && schema.items !== undefined) return renderShape(schema.items, depth);
  if (schema.properties === undefined) {
    return typeof schema.additionalProperties === 'object'
      ? renderShape(schema.additionalProperties, depth)
      : undefined;
  }
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties).map(([name, member]) =>
    renderMember(name, member, { required: required.has(name) && member.default === undefined, depth }),
  );
  return html`<ul class="members">${members}</ul>`;
}

export function renderMember(
  name: string,
  schema: Schema,
  { required, depth = 0 }: { required: boolean; depth?: number },
): Markup {
  const inner = renderShape(schema, depth + 1);
  return html`<li><div class="member"><code class="name">${name}</code> <span class="type">${describeType(schema)}</span>${required ? html` <span class="required">required</span>` : undefined}</div>${renderNotes(schema)}${inner === undefined ? undefined : renderFolded(inner, name, depth + 1)}</li>`;
}

function renderFolded(inner: Markup, name: string, depth: number): Markup {
  if (depth < foldedDepth) return inner;
  return html`<details><summary>Members of <code>${name}</code></summary>${inner}</details>`;
}

function renderAlternatives(schemas: readonly Schema[], depth: number): Markup | undefined {
  const shapes = schemas.map((schema) => ({ schema, shape: renderShape(schema, depth + 1) }));
  if (shapes.every(({ shape }) => shape === undefined)) return undefined;
  const items = shapes.map(
    ({ schema, shape }) =>
      html`<li><div class="member"><span class="type">${describeType(schema)}</span></div>${renderNotes(schema)}${shape}</li>`,
  );
  return html`<p class="either">One of:</p><ul class="members either">${items}</ul>`;
}

/** `string`, `array of object`, `string or number`. */
export function describeType(schema: Schema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(describeType))].join(' or ');
  if (schema.type === 'array')
    return `array of ${schema.items === undefined ? 'anything' : describeType(schema.items)}`;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') {
    return `map of ${describeType(schema.additionalProperties)}`;
  }
  return schema.type ?? (schema.const === undefined ? 'anything' : JSON.stringify(schema.const));
}

function renderNotes(schema: Schema): Markup | undefined {
  const { description } = schema;
  const bounds = listLimits(schema);
  if (description === undefined && bounds.length === 0) return undefined;
  const said =
    description === undefined ? undefined : html`<span>${renderProse(endSentence(description))}</span> `;
  const words = bounds.length === 0 ? undefined : html`<span class="bounds">${renderLimits(bounds)}</span>`;
  return html`<p class="note">${said}${words}</p>`;
}

const endSentence = (text: string) => (/[.!?…]$/.test(text) ? text : `${text}.`);

/** The limits as one sentence; each begins with a word. */
function renderLimits(bounds: readonly Markup[]): Markup {
  const text = bounds.map((bound) => bound.text).join('; ');
  return new Markup(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
}

/** All limits in words. */
function listLimits(schema: Schema): Markup[] {
  const inner = schema.type === 'array' && schema.items !== undefined ? schema.items : undefined;
  const bounds = [
    renderWords(schema),
    renderRange(schema.minLength, schema.maxLength, 'character'),
    renderRange(schema.minimum, schema.maximum, ''),
    renderRange(schema.minItems, schema.maxItems, 'item'),
    renderRange(undefined, schema.maxProperties, 'entry'),
    schema.format === undefined ? undefined : html`format ${schema.format}`,
    schema.pattern === undefined ? undefined : html`pattern <code>${schema.pattern}</code>`,
    schema.default === undefined ? undefined : html`default <code>${JSON.stringify(schema.default)}</code>`,
  ].filter((bound) => bound !== undefined);
  const ofItems = inner === undefined ? [] : listLimits(inner).map((bound) => html`each ${bound}`);
  return [...bounds, ...ofItems];
}

function renderWords({ enum: list }: Schema): Markup | undefined {
  if (list === undefined) return undefined;
  const codes = list.map((word, index) => html`${index === 0 ? '' : ', '}<code>${word}</code>`);
  return html`${list.length === 1 ? 'always ' : 'one of '}${codes}`;
}

const plurals: Record<string, string> = { entry: 'entries' };
const formatNumber = (value: number) => value.toLocaleString('en');

function renderRange(least: number | undefined, most: number | undefined, unit: string): Markup | undefined {
  if (least === undefined && most === undefined) return undefined;
  const count = most ?? least ?? 0;
  const counted = unit === '' ? '' : ` ${count === 1 ? unit : (plurals[unit] ?? `${unit}s`)}`;
  if (most === undefined) return html`${formatNumber(count)}${counted} or more`;
  if (least === most) return html`exactly ${formatNumber(count)}${counted}`;
  if (least === undefined) return html`at most ${formatNumber(most)}${counted}`;
  return html`${formatNumber(least)} to ${formatNumber(most)}${counted}`;
}
