/** Reads the operations of the OpenAPI document, without other knowledge of the server. */
import { readFileSync } from 'node:fs';

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

export interface Schema {
  type?: string;
  enum?: string[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  const?: unknown;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  maxProperties?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
}

export interface Response {
  description: string;
  headers?: Record<string, object>;
  content?: Record<string, { schema: Schema }>;
}

interface OperationObject {
  operationId: string;
  'x-problems'?: string[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, Response>;
}

interface Document {
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: { ProblemDetail: Schema; ScimError: Schema } };
  'x-common-problems': string[];
}

export interface Described {
  id: string;
  method: string;
  /** Below /dpc, parameters in braces. */
  path: string;
  parameters: readonly Parameter[];
  mediaType: string | undefined;
  body: Schema | undefined;
  bodyIsRequired: boolean;
  responses: Record<string, Response>;
  /** The codes of problems that it documents. */
  problems: readonly string[];
}

const text = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
const document = dereferenced(JSON.parse(text)) as unknown as Document;

export const { ProblemDetail: problemSchema, ScimError: scimErrorSchema } = document.components.schemas;

export const operations: readonly Described[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const { operationId, parameters = [], requestBody, responses, 'x-problems': own = [] } = operation;
    const [content] = Object.entries(requestBody?.content ?? {});
    return {
      id: operationId,
      method: method.toUpperCase(),
      path,
      parameters,
      mediaType: content?.[0],
      body: content?.[1].schema,
      bodyIsRequired: requestBody?.required ?? false,
      responses,
      problems: [...document['x-common-problems'], ...own],
    };
  }),
);

/** The document with what each reference leads to in its place. No component refers to itself. */
function dereferenced(root: { [member: string]: Json }): { [member: string]: Json } {
  const at = (reference: string): Json =>
    reference
      .split('/')
      .slice(1)
      .reduce<Json>((json, step) => (json as { [member: string]: Json })[step] ?? null, root);
  const resolve = (json: Json): Json => {
    if (Array.isArray(json)) return json.map(resolve);
    if (typeof json !== 'object' || json === null) return json;
    const { $ref, ...rest } = json;
    // Alternatives with a discriminator are read like any others.
    const members = Object.fromEntries(
      Object.entries(rest).map(([name, member]) => [name === 'oneOf' ? 'anyOf' : name, resolve(member)]),
    );
    return typeof $ref === 'string' ? { ...(resolve(at($ref)) as object), ...members } : members;
  };
  return resolve(root) as { [member: string]: Json };
}

// An empty path segment reaches the operation too, and its schema refuses it.
const forms = operations.map((operation) => ({
  operation,
  form: new RegExp(`^/dpc${operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]*')}$`),
  parameters: operation.path.split('{').length,
}));

/**
 * The operation of a request, if there is one. HEAD is that of GET. A literal path precedes one with a
 * parameter.
 */
export function operationAt(method: string, url: string): Described | undefined {
  const [written = ''] = url.split('?', 1);
  // Of SCIM, a slash at the end counts for nothing.
  const path = written.includes('/scim/v2/') ? written.replace(/\/$/, '') : written;
  const request = method === 'HEAD' ? 'GET' : method;
  const found = forms.filter(({ operation, form }) => operation.method === request && form.test(path));
  return found.toSorted((one, other) => one.parameters - other.parameters)[0]?.operation;
}
