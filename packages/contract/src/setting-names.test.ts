import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { agentSettingNames, unknownSettings } from './setting-names.ts';

const known = ['HEADGATE_PORT', 'HEADGATE_HOST', 'HEADGATE_LOG_FILE', 'DATABASE_URL'];

test('a variable that looks like a setting and is none is named, with the nearest setting and without its value', () => {
  const environment = { HEADGATE_PROT: '9999', HEADGATE_LOGFILE: 'x', HEADGATE_PORT: '1', PATH: '/bin' };
  assert.deepEqual(unknownSettings(environment, known), [
    'HEADGATE_PROT is not a setting; did you mean HEADGATE_PORT?',
    'HEADGATE_LOGFILE is not a setting; did you mean HEADGATE_LOG_FILE?',
  ]);
});

test('what is near to no setting gets no proposal, although all begin alike', () => {
  assert.deepEqual(unknownSettings({ HEADGATE_FOO: '' }, known), [
    'HEADGATE_FOO is not a setting and is ignored.',
  ]);
});

test('the settings of the agent are those that its configuration reads', () => {
  const sources = ['config.ts', 'scripts/script-settings.ts'].map((file) =>
    readFileSync(new URL(`../../agent/src/${file}`, import.meta.url), 'utf8'),
  );
  const read = new Set(sources.join('\n').match(/\bHEADGATE_[A-Z_]*[A-Z]\b/g));
  assert.deepEqual([...agentSettingNames].toSorted(), [...read].toSorted());
});
