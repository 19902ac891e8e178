import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigError, loadConfig } from './config.ts';

const readPrices = (HEADGATE_PRICES: string) => loadConfig({ HEADGATE_PRICES }).prices;

test('prices are JSON or a file, and replace those of the types that they name', (context) => {
  const prices = readPrices('{"script": {"perHour": 2.5, "perRun": 0.1}, "perUser": 5}');
  assert.deepEqual(prices.ofTypes.script, { perHour: 2.5, perRun: 0.1 });
  assert.deepEqual([prices.ofTypes.orchestration, prices.perUser], [{ perHour: 1 }, 5]);
  const folder = mkdtempSync(join(tmpdir(), 'headgate-prices-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'prices.json');
  writeFileSync(file, '{"test": {}}');
  assert.deepEqual(readPrices(file).ofTypes.test, {});
  assert.equal(loadConfig({}).prices.perUser, 0);
});

test('a wrong price list is named, with what is wrong and a remedy', () => {
  const wrong: [string, RegExp][] = [
    ['{"script": {"perHour": 2', /JSON.*write JSON such as/],
    ['{"scripts": {"perHour": 2}}', /"scripts".*did you mean script\?/],
    ['{"script": {"perhour": 2}}', /script has the member "perhour".*did you mean perHour\?/],
    [
      '{"script": {"perHour": -1}}',
      /script\.perHour must be a number of credits from 0 to 1000000; it is -1/,
    ],
    ['{"script": {"perHour": "2"}}', /script\.perHour.*it is "2"/],
    ['{"script": 2}', /script must be an object/],
    ['{"perUser": null}', /perUser/],
    ['/no/such/prices.json', /no such file.*\/no\/such\/prices\.json/],
  ];
  for (const [setting, reason] of wrong)
    assert.throws(
      () => readPrices(setting),
      (failure: unknown) =>
        failure instanceof ConfigError &&
        failure.message.startsWith('HEADGATE_PRICES: ') &&
        reason.test(failure.message),
      setting,
    );
});
