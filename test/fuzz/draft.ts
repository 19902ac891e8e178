/** A request before its placeholders are filled in: what the generators make, what a failure prints. */
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
  /** As it is sent, below the host; `{{…}}` is filled in. */
  path: string;
  query: readonly (readonly [string, string])[];
  headers: Readonly<Record<string, string>>;
  /** As it is sent. */
  body: string | undefined;
  /** What was done to a request that fits the document; with none of it the schema has nothing to refuse. */
  mutations: readonly string[];
}

/** A request that fits the document, in its parts. */
export interface Parts {
  operation: Described;
  caller: Caller;
  path: Record<string, string>;
  query: [string, string][];
  headers: Record<string, string>;
  body: unknown;
}
