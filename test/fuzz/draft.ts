/** A request with placeholders, as the generators create it and a failure prints it. */
import type { Described } from './document.ts';

export const callers = [
  'admin',
  'contributor',
  'viewer',
  'operatorInDev',
  'withoutRole',
  'foreignAdmin',
  'anonymous',
  'forged',
  'agent',
] as const;
export type Caller = (typeof callers)[number];

export interface Draft {
  caller: Caller;
  operationId: string;
  method: string;
  /** Path and query. `{{…}}` is replaced when it is sent. */
  path: string;
  query: readonly (readonly [string, string])[];
  headers: Readonly<Record<string, string>>;
  /** As it is sent. */
  body: string | undefined;
  /** Changes to a valid request. Without any, the schema must accept it. */
  mutations: readonly string[];
}

/** The parts of a valid request. */
export interface Parts {
  operation: Described;
  caller: Caller;
  path: Record<string, string>;
  query: [string, string][];
  headers: Record<string, string>;
  body: unknown;
}
