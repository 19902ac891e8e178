import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from './config.ts';

const model = { HEADGATE_AI_PROVIDER: 'openai', HEADGATE_AI_MODEL: 'm' };

test('without a provider the rule-based assistant answers, and settings of a model are refused', () => {
  assert.equal(loadConfig({}).ai.model, undefined);
  assert.throws(() => loadConfig({ HEADGATE_AI_MODEL: 'm' }), /need HEADGATE_AI_PROVIDER/);
  assert.throws(() => loadConfig({ HEADGATE_AI_API_KEY: 'k' }), /need HEADGATE_AI_PROVIDER/);
});

test('a provider has an address, and needs a model', () => {
  assert.equal(loadConfig(model).ai.model?.baseUrl, 'https://api.openai.com/v1');
  const other = { ...model, HEADGATE_AI_PROVIDER: 'anthropic' };
  assert.equal(loadConfig(other).ai.model?.baseUrl, 'https://api.anthropic.com/v1');
  assert.throws(() => loadConfig({ HEADGATE_AI_PROVIDER: 'openai' }), /needs HEADGATE_AI_MODEL/);
  assert.throws(() => loadConfig({ ...model, HEADGATE_AI_PROVIDER: 'x' }), /openai, anthropic; it is "x"/);
});

test('budgets have no limit of money unless it is set', () => {
  assert.equal(loadConfig({}).ai.ofTask.cost, undefined);
  assert.equal(loadConfig({ HEADGATE_AI_TASK_COST: 'off' }).ai.ofTask.cost, undefined);
  assert.equal(loadConfig({ HEADGATE_AI_TASK_COST: '500' }).ai.ofTask.cost, 500);
  assert.throws(() => loadConfig({ HEADGATE_AI_TASK_COST: '0' }), /HEADGATE_AI_TASK_COST must be/);
  const short = { ...model, HEADGATE_AI_CONTEXT_TOKENS: '5000', HEADGATE_AI_MAX_OUTPUT_TOKENS: '4096' };
  assert.throws(() => loadConfig(short), /at most half of HEADGATE_AI_CONTEXT_TOKENS/);
});
