import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from './config.ts';

test('an unknown setting gives a warning with the nearest name; settings of the agent are known', () => {
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
  assert.deepEqual(
    agentSettings,
    { HEADGATE_AGENT_CONCURRENCY: '3' },
    'settings that the server sets itself are not passed on',
  );
});

test('no setting of the server gives a warning', () => {
  const first = loadConfig({});
  assert.deepEqual(first.warnings, []);
  // Named like a setting of the agent, but read by the server.
  assert.deepEqual(loadConfig({ HEADGATE_AGENT_USER: 'x', HEADGATE_BLOB_REGION: 'eu' }).warnings, []);
});

test('on one machine the default rate limit lets 100 starts a second pass', () => {
  assert.equal(loadConfig({}).rateLimit, 60_000);
  assert.equal(loadConfig({ HEADGATE_TRUSTED_PROXY: '127.0.0.1' }).rateLimit, 1_000);
  assert.equal(loadConfig({ HEADGATE_RATE_LIMIT: '5' }).rateLimit, 5);
});
