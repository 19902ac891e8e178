import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createVariable,
  listPipelineExecutions,
  listVariables,
  type Operation,
  rotateCredential,
  startPipelineExecution,
  updateProject,
  writeOverrides,
} from '@headgate/contract';
import { Problem } from './problems.ts';
import { requestCheck } from './validation.ts';

const projectId = '01890000-0000-7000-8000-000000000000';

function check(
  operation: Operation,
  parts: { params?: unknown; query?: unknown; headers?: unknown; body?: unknown },
) {
  const request = {
    params: { projectId, variableName: 'city' },
    query: {},
    headers: {},
    body: undefined,
    ...parts,
  };
  try {
    requestCheck(operation)(request);
    return { request, violations: [] };
  } catch (failure) {
    assert.ok(failure instanceof Problem);
    return { request, violations: failure.violations.map(({ field, detail }) => `${field}: ${detail}`) };
  }
}

const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED' };
const ofBody = (body: unknown, operation: Operation = createVariable) =>
  check(operation, { body }).violations;

test('what fits has no violation', () => {
  assert.deepEqual(ofBody(city), []);
});

test('every fault is told in the caller’s words, by its field', () => {
  assert.deepEqual(ofBody({}), [
    'body.name: is required',
    'body.type: is required',
    'body.behaviour: is required',
  ]);
  assert.deepEqual(ofBody({ ...city, type: 'DATE' }), ['body.type: must be one of TEXT, NUMBER, GRID']);
  assert.deepEqual(ofBody({ ...city, description: 1 }), ['body.description: must be string']);
  assert.deepEqual(ofBody({ ...city, supportsDoubleResolution: 'yes' }), [
    'body.supportsDoubleResolution: must be boolean',
  ]);
  assert.deepEqual(ofBody({ ...city, name: '1' }), [
    'body.name: must match ^(?!\\$$)[a-zA-Z_$][a-zA-Z0-9_$]*$',
  ]);
  assert.deepEqual(ofBody({ ...city, description: 'x'.repeat(2_001) }), [
    'body.description: must NOT have more than 2000 characters',
  ]);
});

test('of a union the branch that came closest is told, or the types that it takes', () => {
  assert.deepEqual(ofBody({ ...city, value: true }), ['body.value: must be string or number or object']);
  assert.deepEqual(ofBody({ ...city, value: { columns: [] } }), ['body.value.rows: is required']);
  const grid = { columns: [{ name: 'a', type: 'TEXT' }], rows: [['x'], [true]] };
  assert.deepEqual(ofBody({ ...city, value: grid }), [
    'body.value.rows[1][0]: must be string or number or null',
  ]);
  assert.deepEqual(ofBody([{ environmentName: 'dev', value: 1 }, { value: 1 }], writeOverrides), [
    'body[1].environmentName: is required',
  ]);
});

test('names with slashes, tildes and dots are told as they are', () => {
  const scalarVariables = { 'a/b~c.d': true };
  const body = { pipelineName: 'p', environmentName: 'dev', scalarVariables };
  const [found] = ofBody(body, startPipelineExecution);
  assert.equal(found, 'body.scalarVariables.a/b~c.d: must be string or number');
});

test('text of an address is read as what is asked for, a body is not', () => {
  const { request, violations } = check(listVariables, { query: { page: '2', size: '7' } });
  assert.deepEqual([violations, request.query], [[], { page: 2, size: 7 }]);
  assert.deepEqual(check(listVariables, {}).request.query, { page: 0, size: 25 });
  const one = check(listPipelineExecutions, { query: { status: 'RUNNING' } });
  assert.deepEqual(one.request.query, { limit: 25, status: ['RUNNING'] });
  assert.deepEqual(ofBody({ ...city, supportsDoubleResolution: 'true' }), [
    'body.supportsDoubleResolution: must be boolean',
  ]);
});

test('a POST that requires no member may come without a body, and no other', () => {
  const params = { credentialId: 'c' };
  const rotated = check(rotateCredential, { params });
  assert.deepEqual([rotated.violations, rotated.request.body], [[], {}]);
  assert.deepEqual(check(rotateCredential, { params, body: null }).violations, ['body: must be object']);
  assert.deepEqual(ofBody(undefined), ['body: must be object']);
  assert.deepEqual(
    check(updateProject, {}).violations,
    ['body: must be object'],
    'a PATCH changes something',
  );
});

test('a time is one that can be reckoned with', () => {
  const since = (startedAfter: string) =>
    check(listPipelineExecutions, { query: { startedAfter } }).violations;
  for (const time of ['2016-12-31T23:59:59.000Z', '2016-12-31T23:59:59Z', '2017-01-01T01:00:00+01:00']) {
    assert.deepEqual(since(time), [], time);
  }
  for (const time of ['2016-12-31T23:59:60.000Z', '2024-02-30T00:00:00Z', '2024-01-01', 'now']) {
    assert.equal(since(time).length, 1, time);
  }
});

test('the faults of all parts are told together', () => {
  const { violations } = check(listVariables, {
    params: { projectId: 'x' },
    query: { page: '-1', size: 'x' },
  });
  assert.deepEqual(
    violations.map((each) => each.split(':', 1)[0]),
    ['params.projectId', 'query.page', 'query.size'],
  );
});

test('text that is no text is refused wherever it is', () => {
  assert.deepEqual(ofBody({ ...city, value: 'a\0' }), ['body.value: must not contain NUL']);
  assert.deepEqual(ofBody({ ...city, x: [{ y: '\ud800' }] }), [
    'body.x[0].y: must not contain a lone surrogate',
  ]);
  assert.deepEqual(check(listVariables, { query: { x: '\0' } }).violations, [
    'query.x: must not contain NUL',
  ]);
});
