/** One rule for every id of every operation: in lower case as responses give it, else 400. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Operation, operations } from '@headgate/contract';
import { type JsonSchema, listAlternatives } from './json-schema.ts';
import { bodySchemas } from './schemas.ts';
import { createRequestCheck } from './validation.ts';

const lower = '0198c2f4-5d1e-7c3a-9b42-6f0e8d7c1a23';
const upper = lower.toUpperCase();

/** Ids of others, in their own form. */
const foreign = [
  'agentConfig.graphId',
  'alternateId',
  'branchId',
  'clientId',
  'commitId',
  'gcpProjectId',
  'endpointId',
  'endpoints.id',
  'externalId',
  'installationId',
  'qualityGateRules.id',
  'tenantId',
];
const isForeign = (path: string) => foreign.some((name) => path === name || path.endsWith(`.${name}`));

/** The schemas of the members that hold ids, by their paths. */
function* listIds(schema: JsonSchema, path = ''): Generator<[string, JsonSchema]> {
  for (const each of listAlternatives(schema)) {
    if (each.items !== undefined) yield* listIds(each.items, path);
    if (each.properties === undefined && /(?:^|\.)id$|Ids?$/.test(path) && !isForeign(path))
      yield [path, each];
    for (const [name, member] of Object.entries(each.properties ?? {}))
      yield* listIds(member, path === '' ? name : `${path}.${name}`);
  }
}

const parts = ['params', 'query', 'body'] as const;

test('every member of a request that holds an id takes it in lower case only', () => {
  let found = 0;
  for (const operation of operations as readonly Operation[])
    for (const part of parts)
      for (const [path, schema] of listIds((operation[part] ?? {}) as JsonSchema)) {
        if (schema.type !== 'string') continue;
        const isValid = bodySchemas.compile(schema as object);
        found += 1;
        assert.ok(isValid(lower), `${operation.id}: ${part}.${path} refuses an id`);
        assert.ok(!isValid(upper), `${operation.id}: ${part}.${path} takes an id in upper case`);
      }
  assert.ok(found > 150, `${found} ids`);
});

test('an id in upper case in a path is a fault that says so', () => {
  let found = 0;
  for (const operation of operations as readonly Operation[]) {
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    for (const name of names.filter((each) => /^id$|Id$/.test(each) && !isForeign(each))) {
      found += 1;
      const request = { params: { [name]: upper }, query: {}, headers: {}, body: {} };
      assert.throws(
        () => createRequestCheck(operation)(request),
        (refused: { violations: { field: string; detail: string }[] }) => {
          const fault = refused.violations.find(({ field }) => field === `params.${name}`);
          return fault !== undefined && /lower case/.test(fault.detail);
        },
        operation.id,
      );
    }
  }
  assert.ok(found > 100, `${found} ids`);
});
