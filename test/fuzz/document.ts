/** Reads the operations of the OpenAPI document, without other knowledge of the server. */
import { readFileSync } from 'node:fs';

export interface Schema {
  type?: string;
  enum?: string[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
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
  content?: Record<string, { schema: Schema | { $ref: string } }>;
}

interface OperationObject {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, Response>;
}

interface Document {
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: { ProblemDetail: Schema } };
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
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as Document;

export const problemSchema: Schema = document.components.schemas.ProblemDetail;

export const operations: readonly Described[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId, parameters = [], requestBody, responses }]) => {
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
    };
  }),
);

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
  const path = url.split('?', 1)[0] ?? '';
  const asked = method === 'HEAD' ? 'GET' : method;
  const found = forms.filter(({ operation, form }) => operation.method === asked && form.test(path));
  return found.toSorted((one, other) => one.parameters - other.parameters)[0]?.operation;
}
