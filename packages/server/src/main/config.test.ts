import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from './config.ts';

test('a setting that is not known is warned of, with the nearest one; those of the agent are known', () => {
  const { warnings, agentSettings } = loadConfig({
    HEADGATE_PROT: '9000',
    HEADGATE_PORT: '8081',
    HEADGATE_TLS_CERTIFICATE: '',
    HEADGATE_AGENT_CONCURRENCY: '3',
    HEADGATE_AGENT_CONCURENCY: '4',
    HEADGATE_AGENT_USER: 'somebody',
    HEADGATE_SERVER_URL: 'http://127.0.0.1:8081',
    DATABASE_URI: 'not ours to judge',
  });
  assert.deepEqual(warnings, [
    'HEADGATE_PROT is not a setting; did you mean HEADGATE_PORT?',
    'HEADGATE_TLS_CERTIFICATE is not a setting and is ignored.',
    'HEADGATE_AGENT_CONCURENCY is not a setting; did you mean HEADGATE_AGENT_CONCURRENCY?',
  ]);
  assert.deepEqual(agentSettings, { HEADGATE_AGENT_CONCURRENCY: '3' }, 'what the server decides is left out');
});

test('no setting of the server is taken for an unknown one', () => {
  const first = loadConfig({});
  assert.deepEqual(first.warnings, []);
  // By its name it belongs to the agent's settings, but the server reads it.
  assert.deepEqual(loadConfig({ HEADGATE_AGENT_USER: 'x', HEADGATE_BLOB_REGION: 'eu' }).warnings, []);
});
