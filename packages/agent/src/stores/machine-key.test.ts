import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startFakeApi } from '../../testing/fake-api.ts';

/** As Amazon ECS gives keys to a container. */
const container = await startFakeApi(({ headers }, response) => {
  if (headers.authorization === 'of the container')
    return {
      AccessKeyId: 'AKIAMACHINE',
      SecretAccessKey: 'secret',
      Token: 'session',
      Expiration: new Date(Date.now() + 3_600_000).toISOString(),
    };
  response.statusCode = 403;
  return {};
});
const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE', 'AWS_SESSION_TOKEN'];
for (const name of names) delete process.env[name];
process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = `${container.origin}/keys`;
process.env.AWS_CONTAINER_AUTHORIZATION_TOKEN = 'of the container';
process.env.AWS_SHARED_CREDENTIALS_FILE = '/dev/null';
process.env.AWS_CONFIG_FILE = '/dev/null';
after(() => container.close());

test('the key of the machine comes from the standard chain of AWS', async () => {
  const { readMachineKey } = await import('./machine-key.ts');
  assert.deepEqual(await readMachineKey(), {
    accessKeyId: 'AKIAMACHINE',
    secretAccessKey: 'secret',
    sessionToken: 'session',
  });
});
