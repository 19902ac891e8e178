/** Work that only reads a warehouse, done in this process by its handler. */
import assert from 'node:assert/strict';
import type { Connectors } from '../src/connectors/connectors.ts';
import type { WorkContext } from '../src/handlers/handler.ts';
import type { SecretReferences } from '../src/secrets/secret-references.ts';
import { errorLog } from './warehouse.ts';

const unused = () => assert.fail('reading work reports nothing before its end');
const { signal } = new AbortController();
/** Work that reports nothing before its end, and is not cancelled. */
export const readingContext: WorkContext = {
  ...{ reportStarted: unused, step: unused, tested: unused, line: unused, variables: unused },
  ...{ conceal: () => undefined, cancel: signal, kill: signal },
};

/** @param readSecret the secrets of connections to warehouses */
export const readingServices = (
  readSecret: (name: string) => ReturnType<SecretReferences['read']> = () => assert.fail('no secret'),
) => ({
  secretReferences: {
    read: (_work: unknown, name: string) => readSecret(name),
    readCloud: async () => assert.fail('no cloud'),
  },
  connectors: { open: () => assert.fail('no endpoint') } as unknown as Connectors,
  log: errorLog,
});
