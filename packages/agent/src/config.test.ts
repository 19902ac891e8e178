import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ConfigError, loadConfig } from './config.ts';

const needed = {
  HEADGATE_SERVER_URL: 'https://headgate.example/base/',
  HEADGATE_AGENT_CLIENT_ID: 'id',
  HEADGATE_AGENT_CLIENT_SECRET: 'secret',
};
const user = 1000;

function problemsOf(environment: Record<string, string>, userId = user): string[] {
  try {
    loadConfig(environment, userId);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message.split('\n');
  }
  return [];
}

describe('the agent’s settings', () => {
  it('require only an address and a credential', () => {
    const config = loadConfig(needed, user);
    assert.equal(config.serverUrl, 'https://headgate.example/base');
    assert.equal(config.concurrency, 20);
    assert.equal(config.shutdownSeconds, 10);
    assert.equal(config.endWithStdin, false);
  });

  it('give the role of the machine to the hosts that they name', () => {
    const read = (value: string) =>
      loadConfig({ ...needed, HEADGATE_AGENT_MACHINE_ROLE: value }, user).machineRole;
    assert.equal(read('no'), undefined);
    assert.deepEqual(read('yes'), { hosts: [] });
    assert.deepEqual(read('yes, lake.example.com,minio:9000'), { hosts: ['lake.example.com', 'minio:9000'] });
    assert.match(
      problemsOf({ ...needed, HEADGATE_AGENT_MACHINE_ROLE: 'https://minio' })[0] ?? '',
      /^HEADGATE_AGENT_MACHINE_ROLE must be yes, no, or hosts such as .*; it has "https:\/\/minio"$/,
    );
  });

  it('warn about an unknown one with the nearest name', () => {
    const { warnings } = loadConfig({ ...needed, HEADGATE_AGENT_CONCURENCY: '4' }, user);
    assert.deepEqual(warnings, [
      'HEADGATE_AGENT_CONCURENCY is not a setting; did you mean HEADGATE_AGENT_CONCURRENCY?',
    ]);
    assert.deepEqual(loadConfig(needed, user).warnings, []);
  });

  it('are all listed at once if they are invalid', () => {
    const problems = problemsOf({
      HEADGATE_SERVER_URL: 'ftp://x',
      HEADGATE_AGENT_CONCURRENCY: '0',
      HEADGATE_AGENT_WAREHOUSE_MEMORY_MB: '1e3',
      HEADGATE_AGENT_END_WITH_STDIN: 'true',
      HEADGATE_AGENT_LOG_LEVEL: 'loud',
    });
    const named = [
      /^HEADGATE_AGENT_CLIENT_ID is missing/,
      /^HEADGATE_AGENT_CLIENT_SECRET is missing/,
      /^HEADGATE_SERVER_URL must be an http or https address/,
      /^HEADGATE_AGENT_CONCURRENCY must be a whole number from 1 to 1000; it is "0"$/,
      /^HEADGATE_AGENT_END_WITH_STDIN must be yes or no; it is "true"$/,
      /^HEADGATE_AGENT_LOG_LEVEL must be one of debug, info, warn, error; it is "loud"$/,
      /^HEADGATE_AGENT_WAREHOUSE_MEMORY_MB must be a whole number/,
    ];
    assert.equal(problems.length, named.length);
    for (const pattern of named)
      assert.ok(
        problems.some((problem) => pattern.test(problem)),
        String(pattern),
      );
  });

  it('limit a process above its heap and above DuckDB’s memory', () => {
    const preset = loadConfig(needed, user);
    assert.deepEqual([preset.runMemoryMegabytes, preset.runProcessMegabytes], [256, 512]);
    assert.deepEqual([preset.warehouse.memoryMegabytes, preset.warehouse.processMegabytes], [1_024, 1_536]);
    const larger = loadConfig({ ...needed, HEADGATE_AGENT_WAREHOUSE_MEMORY_MB: '8192' }, user);
    assert.equal(larger.warehouse.processMegabytes, 10_496);
    const problems = problemsOf({
      ...needed,
      HEADGATE_AGENT_RUN_PROCESS_MEMORY_MB: '300',
      HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB: '1024',
    });
    assert.deepEqual(problems, [
      'HEADGATE_AGENT_RUN_PROCESS_MEMORY_MB is 300: it must be at least 384, which is HEADGATE_AGENT_RUN_MEMORY_MB (256) plus 128',
      'HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB is 1024: it must be at least 1152, which is HEADGATE_AGENT_WAREHOUSE_MEMORY_MB (1024) plus 128',
    ]);
  });

  it('read the credential from a file that only its owner can read', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-config-'));
    try {
      const file = join(folder, 'credential.json');
      const environment = {
        HEADGATE_SERVER_URL: 'http://127.0.0.1:8080',
        HEADGATE_AGENT_CREDENTIAL_FILE: file,
      };
      assert.match(problemsOf(environment)[0] ?? '', /cannot be read: ENOENT/);
      writeFileSync(file, '{"clientId":"id","clientSecret":"canary"}', { mode: 0o600 });
      assert.equal(loadConfig(environment, user).clientSecret, 'canary');
      writeFileSync(file, '{"clientId":"id","clientSecret":"canary","agentId":"a"}');
      assert.equal(loadConfig(environment, user).agentId, 'a');
      assert.equal(loadConfig({ ...environment, HEADGATE_AGENT_ID: 'b' }, user).agentId, 'b');
      chmodSync(file, 0o640);
      assert.match(problemsOf(environment)[0] ?? '', /can be read by other users: set its mode to 0600/);
      chmodSync(file, 0o600);
      writeFileSync(file, '{"clientSecret": canary}');
      assert.deepEqual(problemsOf(environment), [
        `HEADGATE_AGENT_CREDENTIAL_FILE (${file}) is not JSON: write {"clientId": "…", "clientSecret": "…"}`,
      ]);
      assert.match(
        problemsOf({ ...environment, HEADGATE_AGENT_CLIENT_ID: 'id' })[0] ?? '',
        /is set together with/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('read only the secret from a file that only its owner can read', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-config-'));
    try {
      const file = join(folder, 'secret');
      const { HEADGATE_AGENT_CLIENT_SECRET: _, ...others } = needed;
      const environment = { ...others, HEADGATE_AGENT_CLIENT_SECRET_FILE: file };
      assert.match(problemsOf(environment)[0] ?? '', /CLIENT_SECRET_FILE .* cannot be read: ENOENT/);
      writeFileSync(file, 'canary\n', { mode: 0o600 });
      assert.equal(loadConfig(environment, user).clientSecret, 'canary');
      assert.match(problemsOf({ ...environment, ...needed })[0] ?? '', /are both set/);
      writeFileSync(file, '\n');
      assert.match(problemsOf(environment)[0] ?? '', /is empty/);
      chmodSync(file, 0o644);
      assert.match(problemsOf(environment)[0] ?? '', /can be read by other users/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('allow the secret to come from the program that starts the agent', () => {
    const { HEADGATE_AGENT_CLIENT_SECRET: _, ...others } = needed;
    const config = loadConfig({ ...others, HEADGATE_AGENT_END_WITH_STDIN: 'yes' }, user);
    assert.equal(config.clientSecret, undefined);
  });

  it('refuse to send the secret unencrypted over a network, unless allowed', () => {
    for (const address of ['http://10.0.0.1:8080', 'http://headgate.example', 'http://127.0.0.1.example']) {
      const environment = { ...needed, HEADGATE_SERVER_URL: address };
      const [problem = '', ...more] = problemsOf(environment);
      assert.match(problem, /^HEADGATE_SERVER_URL must begin with https:\/\/.*HEADGATE_AGENT_ALLOW_HTTP=yes/);
      assert.ok(problem.includes(address) && more.length === 0);
      const allowed = { ...environment, HEADGATE_AGENT_ALLOW_HTTP: 'yes' };
      assert.equal(loadConfig(allowed, user).serverUrl, address);
    }
    for (const address of [
      'http://127.0.0.1:8080',
      'http://127.8.0.1',
      'http://[::1]:8080',
      'http://localhost',
    ])
      assert.equal(loadConfig({ ...needed, HEADGATE_SERVER_URL: address }, user).serverUrl, address);
  });

  it('refuse to run as root, unless allowed', () => {
    assert.match(problemsOf(needed, 0)[0] ?? '', /must not run as root/);
    assert.deepEqual(problemsOf({ ...needed, HEADGATE_AGENT_ALLOW_ROOT: 'yes' }, 0), []);
  });

  it('of scripts have bounds, and no network', () => {
    assert.deepEqual(loadConfig(needed, user).scripts, {
      isOn: true,
      bounds: {
        timeSeconds: 3_600,
        memoryMegabytes: 512,
        diskMegabytes: 256,
        processes: 128,
        outputKilobytes: 1_024,
        concurrency: 4,
      },
      python: undefined,
      network: [],
    });
    const id = '0198c7a0-1111-7000-8000-000000000001';
    const { network } = loadConfig(
      { ...needed, HEADGATE_AGENT_SCRIPT_NETWORK: ` ${id}/dev , ${id}/My env,` },
      user,
    ).scripts;
    assert.deepEqual(network, [`${id}/dev`, `${id}/My env`]);
    assert.deepEqual(
      problemsOf({
        ...needed,
        HEADGATE_AGENT_SCRIPTS: 'yes',
        HEADGATE_AGENT_SCRIPT_NETWORK: 'dev',
        HEADGATE_AGENT_SCRIPT_PYTHON: 'python3',
        HEADGATE_AGENT_SCRIPT_MEMORY_MB: '1',
      }).map((problem) => problem.slice(0, 60)),
      [
        'HEADGATE_AGENT_SCRIPT_PYTHON is "python3": it must be an abs',
        'HEADGATE_AGENT_SCRIPTS must be one of on, off; it is "yes"',
        'HEADGATE_AGENT_SCRIPT_MEMORY_MB must be a whole number from ',
        'HEADGATE_AGENT_SCRIPT_NETWORK has the entry "dev": write a p',
      ],
    );
  });
});
