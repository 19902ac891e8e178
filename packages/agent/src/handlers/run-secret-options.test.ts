import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '@headgate/contract/without-schemas';
import type { ConnectorUse } from '../connectors/connectors.ts';
import { createSecretOptions } from './run-secret-options.ts';

test('secrets of a run and tokens of its connectors are masked together, whichever is read last', async () => {
  const unused = () => undefined;
  const values = { connector: 'of-connector-1', token: 'of-oauth-2', run: 'of-run-3' };
  let mask = (text: string) => text;
  const setMask = (next: typeof mask) => {
    mask = next;
  };
  let use: ConnectorUse | undefined;
  const options = createSecretOptions(
    { workId: 'w', epoch: 1 },
    { projectId: 'p', environmentName: 'e' },
    { kill: new AbortController().signal, conceal: setMask },
    {
      connectors: {
        open(_: unknown, input: ConnectorUse) {
          use = input;
          return Promise.reject(new Error('the endpoint is not called'));
        },
      },
      secretReferences: {
        read: async (_: unknown, name: 'connector' | 'run') => new Secret(values[name]),
      },
      log: { info: unused },
    } as never,
  );
  await assert.rejects(async () => options.openEndpoint({} as never), /not called/);
  await use?.readSecret('connector');
  use?.onToken(new Secret(values.token));
  await options.readSecret('run');
  const text = Object.values(values).join(' ');
  assert.equal(mask(text), '*** *** ***');
  assert.equal(options.conceal(text), '*** *** ***');
  await use?.readSecret('connector');
  assert.equal(mask(text), '*** *** ***');
});
