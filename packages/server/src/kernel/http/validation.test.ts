import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createConnection,
  createSchedule,
  createVariable,
  listPipelineExecutions,
  listVariables,
  type Operation,
  patchScimUser,
  rotateCredential,
  startPipelineExecution,
  updateProject,
  updateVariable,
  writeOverrides,
} from '@headgate/contract';
import { createBodyReading } from './body-reading.ts';
import { Problem } from './problems.ts';
import { createRequestCheck } from './validation.ts';

const projectId = '01890000-0000-7000-8000-000000000000';

function check(
  operation: Operation,
  parts: { params?: unknown; query?: unknown; headers?: unknown; body?: unknown },
  strict = false,
) {
  const request = {
    params: { projectId, variableName: 'city' },
    query: {},
    headers: {},
    body: undefined,
    ...parts,
  };
  try {
    // Validated as the body parser does.
    const { body } = request;
    const read =
      body === undefined ? undefined : createBodyReading(operation)(Buffer.from(JSON.stringify(body)));
    const ignored = createRequestCheck(operation)(request, read, strict);
    return { request, violations: [], ignored };
  } catch (failure) {
    assert.ok(failure instanceof Problem);
    const violations = failure.violations.map(({ field, detail }) => `${field}: ${detail}`);
    return { request, violations, ignored: [] };
  }
}

const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED' };
const ofBody = (body: unknown, operation: Operation = createVariable) =>
  check(operation, { body }).violations;

test('a valid request has no violations', () => {
  assert.deepEqual(ofBody(city), []);
});

test('every fault names its field in the caller’s terms', () => {
  assert.deepEqual(ofBody({}), [
    'body.name: is required',
    'body.type: is required',
    'body.behaviour: is required',
  ]);
  assert.deepEqual(ofBody({ ...city, type: 'DATE' }), [
    'body.type: must be one of TEXT, NUMBER, GRID; got "DATE"',
  ]);
  assert.deepEqual(ofBody({ ...city, description: 1 }), ['body.description: must be a string, not a number']);
  assert.deepEqual(ofBody({ ...city, supportsDoubleResolution: 'yes' }), [
    'body.supportsDoubleResolution: must be a boolean, not a string',
  ]);
  assert.deepEqual(ofBody({ ...city, name: '1' }), [
    'body.name: must be a name of letters, digits, _ and $ that does not begin with a digit, such as load_date; got "1"',
  ]);
  assert.deepEqual(ofBody({ ...city, description: 'x'.repeat(2_001) }), [
    'body.description: must have at most 2,000 characters; it has 2,001',
  ]);
});

test('faults of a union are those of the closest alternative, or its types', () => {
  assert.deepEqual(ofBody({ ...city, value: true }), [
    'body.value: must be a string, a number or an object, not a boolean',
  ]);
  assert.deepEqual(ofBody({ ...city, value: { columns: [] } }), ['body.value.rows: is required']);
  const grid = { columns: [{ name: 'a', type: 'TEXT' }], rows: [['x'], [true]] };
  assert.deepEqual(ofBody({ ...city, value: grid }), [
    'body.value.rows[1][0]: must be a string, a number or null, not a boolean',
  ]);
  assert.deepEqual(ofBody([{ environmentName: 'dev', value: 1 }, { value: 1 }], writeOverrides), [
    'body[1].environmentName: is required',
  ]);
});

test('names with slashes, tildes and dots are reported unchanged', () => {
  const scalarVariables = { 'a/b~c.d': true };
  const body = { pipelineName: 'p', environmentName: 'dev', scalarVariables };
  const [found] = ofBody(body, startPipelineExecution);
  assert.equal(found, 'body.scalarVariables.a/b~c.d: must be a string or a number, not a boolean');
});

test('text in the URL is converted to the declared type, a body is not', () => {
  const { request, violations } = check(listVariables, { query: { page: '2', size: '7' } });
  assert.deepEqual([violations, request.query], [[], { page: 2, size: 7 }]);
  assert.deepEqual(check(listVariables, {}).request.query, { page: 0, size: 25 });
  const one = check(listPipelineExecutions, { query: { status: 'RUNNING' } });
  assert.deepEqual(one.request.query, { limit: 25, status: ['RUNNING'] });
  assert.deepEqual(ofBody({ ...city, supportsDoubleResolution: 'true' }), [
    'body.supportsDoubleResolution: must be a boolean, not a string',
  ]);
});

test('only a POST without required members may omit its body', () => {
  const params = { credentialId: 'c' };
  const rotated = check(rotateCredential, { params });
  assert.deepEqual([rotated.violations, rotated.request.body], [[], {}]);
  assert.deepEqual(check(rotateCredential, { params, body: null }).violations, [
    'body: must be an object, not null',
  ]);
  assert.deepEqual(ofBody(undefined), ['body: is required']);
  assert.deepEqual(check(updateProject, {}).violations, ['body: is required'], 'a PATCH changes something');
});

test('a date-time must be a valid date', () => {
  const since = (startedAfter: string) =>
    check(listPipelineExecutions, { query: { startedAfter } }).violations;
  for (const time of ['2016-12-31T23:59:59.000Z', '2016-12-31T23:59:59Z', '2017-01-01T01:00:00+01:00']) {
    assert.deepEqual(since(time), [], time);
  }
  for (const time of ['2016-12-31T23:59:60.000Z', '2024-02-30T00:00:00Z', '2024-01-01', 'now']) {
    assert.equal(since(time).length, 1, time);
  }
});

test('the faults of all parts are reported together', () => {
  const { violations } = check(listVariables, {
    params: { projectId: 'x' },
    query: { page: '-1', size: 'x' },
  });
  assert.deepEqual(
    violations.map((each) => each.split(':', 1)[0]),
    ['params.projectId', 'query.page', 'query.size'],
  );
});

test('invalid Unicode and NUL are refused everywhere', () => {
  assert.deepEqual(ofBody({ ...city, value: 'a\0' }), ['body.value: must not contain NUL']);
  assert.deepEqual(ofBody({ ...city, x: [{ y: '\ud800' }] }), [
    'body.x[0].y: must not contain a lone surrogate',
  ]);
  assert.deepEqual(check(listVariables, { query: { x: '\0' } }).violations, [
    'query.x: must not contain NUL',
  ]);
});

test('null for an optional member means absent in a POST and is refused in a PATCH', () => {
  const { request, violations } = check(createVariable, {
    body: { ...city, description: null, value: null },
  });
  assert.deepEqual([violations, request.body], [[], city]);
  assert.deepEqual(ofBody({ ...city, name: null }), ['body.name: must be a string, not null']);
  assert.deepEqual(ofBody({ type: 'TEXT', behaviour: 'SHARED', description: null }, updateVariable), [
    'body.description: must be a string, not null',
  ]);
  const grid = { columns: [], rows: [[null, 'x']] };
  const retained = check(createVariable, { body: { ...city, type: 'GRID', value: grid } }).request.body;
  assert.deepEqual(retained, { ...city, type: 'GRID', value: grid });
  const nested = {
    name: 'c',
    description: null,
    secretsLocation: null,
    connectionProperties: { secretName: 's', secretKey: null },
  };
  const made = {
    name: 'c',
    platformConnectionType: 'COMPONENT_BASIC',
    authProvider: 'NONE',
    authType: 'GENERIC_SECRET',
  };
  const body = check(createConnection, { body: { ...made, connectionDetails: nested } }).request.body;
  assert.deepEqual(body, { ...made, connectionDetails: { connectionProperties: { secretName: 's' } } });
});

test('a dry run that an operation does not have is refused, not ignored', () => {
  assert.deepEqual(check(updateProject, { body: {}, query: { dryRun: 'true' } }).violations, [
    'query.dryRun: is unknown; remove it',
  ]);
  assert.deepEqual(
    check(patchScimUser, { params: { id: projectId }, body: {}, query: { dryrun: 'true' } }).violations,
    ['query.dryrun: is unknown; did you mean dryRun?'],
  );
});

test('an unknown member is ignored and reported with the nearest name; strict handling refuses it', () => {
  const body = { pipelineName: 'p', environmentName: 'dev', scalarVariable: {}, colour: 'red' };
  const { request, ignored } = check(startPipelineExecution, { body, query: { pagee: '1' } });
  assert.deepEqual(request.body, { pipelineName: 'p', environmentName: 'dev' });
  assert.deepEqual(ignored, [
    { field: 'query.pagee', near: undefined },
    { field: 'body.scalarVariable', near: 'scalarVariables' },
    { field: 'body.colour', near: undefined },
  ]);
  assert.deepEqual(check(startPipelineExecution, { body, query: { pagee: '1' } }, true).violations, [
    'query.pagee: is unknown; remove it',
    'body.scalarVariable: is unknown; did you mean scalarVariables?',
    'body.colour: is unknown; remove it',
  ]);
  assert.deepEqual(check(listVariables, { query: { pgae: '1' } }).ignored, [
    { field: 'query.pgae', near: 'page' },
  ]);
  const schedule = { name: 's', cronExpresion: '0 2 * * *' };
  const pipeline = { pipelineName: 'p', environmentName: 'dev' };
  assert.deepEqual(check(createSchedule, { body: { pipeline, schedule } }).ignored, [
    { field: 'body.schedule.cronExpresion', near: 'cronExpression' },
  ]);
  const open = { ...body, scalarVariables: { anything: 'x' } };
  assert.equal(
    check(startPipelineExecution, { body: open }).ignored.length,
    2,
    'the names of a map are free',
  );
});

test('the fault of a missing member names the misspelled one', () => {
  const { violations } = check(startPipelineExecution, {
    body: { pipelineName: 'p', enviromentName: 'dev' },
  });
  assert.deepEqual(violations, [
    'body.environmentName: is required; the request has "enviromentName" instead',
  ]);
});

test('faults of text in the URL do not mention its type', () => {
  assert.deepEqual(check(listVariables, { query: { size: 'abc' } }).violations, [
    'query.size: must be an integer; got "abc"',
  ]);
  const { violations } = check(writeOverrides, {
    query: { atomic: 'yes' },
    body: [{ environmentName: 'dev', value: 1 }],
  });
  assert.deepEqual(violations, ['query.atomic: must be true or false; got "yes"']);
});

test('at most 100 faults are reported', () => {
  const rows = Array.from({ length: 9_000 }, () => [true, true]);
  const violations = ofBody({ ...city, value: { columns: [], rows } });
  assert.equal(violations.length, 100);
  assert.equal(violations[99], 'body.value.rows[49][1]: must be a string, a number or null, not a boolean');
});
