/**
 * Names that generators of clients make of the document. Those of Python write them in snake_case and PascalCase, with
 * one file for each model: names that differ only in case, `_`, `-`, `.` or `$` become one, and what has such a name is
 * left out (openapi-python-client utils.py; openapi-generator, python models). A schema inside another one is named
 * after it: `Parent` and its member `tool` make `ParentTool`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApiDocument } from './document.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  schema: Schema;
}
interface Operation {
  operationId: string;
  parameters?: Parameter[];
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
}

const document = JSON.parse(
  JSON.stringify(openApiDocument({ version: '1', serverUrl: 'https://x.example' })),
) as Document;
const { schemas, parameters } = document.components;
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

const foldName = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();

/** As an attribute of a class: `timeZone` and `timezone` are two. */
const toSnakeCase = (name: string) =>
  name
    .replaceAll(/[A-Z]?[a-z]+/g, ' $& ')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .join('_')
    .toLowerCase();

/** The names of which another one is the same to a generator. */
function findTwins(names: readonly string[], normalize: (name: string) => string = foldName): string[] {
  const known = new Map<string, string>();
  const twins: string[] = [];
  for (const name of names) {
    const other = known.get(normalize(name));
    if (other !== undefined) twins.push(`${other} and ${name}`);
    known.set(normalize(name), name);
  }
  return twins;
}

/** The models of a schema that has no name of its own: those in it, and itself if it is one. */
function listModels(name: string, schema: Schema): string[] {
  if (schema.$ref !== undefined) return [];
  const isModel = schema.type === 'object' || schema.enum !== undefined;
  return [...(isModel ? [name] : []), ...listParts(name, schema)];
}

function listParts(name: string, { properties = {}, items, ...schema }: Schema): string[] {
  const alternatives = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...Object.entries(properties).flatMap(([member, part]) => listModels(`${name}_${member}`, part)),
    ...(items === undefined ? [] : listModels(`${name}_item`, items)),
    ...alternatives.flatMap((part, index) => listModels(`${name}_type_${index}`, part)),
  ];
}

function listSchemas(schema: Schema): Schema[] {
  const { properties = {}, items, anyOf = [], oneOf = [], allOf = [] } = schema;
  const parts = [...Object.values(properties), ...(items === undefined ? [] : [items])];
  return [schema, ...[...parts, ...anyOf, ...oneOf, ...allOf].flatMap(listSchemas)];
}

const parametersOf = ({ parameters: listed = [] }: Operation) =>
  listed.map((each) =>
    each.$ref === undefined
      ? each
      : (parameters[each.$ref.split('/').at(-1) ?? ''] ?? assert.fail(each.$ref)),
  );

test('the check finds names that differ only in case and signs', () => {
  assert.deepEqual(findTwins(['$ref', 'ref', 'timeZone', 'timezone', 'time_zone'], toSnakeCase), [
    '$ref and ref',
    'timeZone and time_zone',
  ]);
  assert.deepEqual(findTwins(['$ref', 'ref', 'ids', 'IDs', 'id_s', 'id']), [
    '$ref and ref',
    'ids and IDs',
    'IDs and id_s',
  ]);
  const nested = { Run: { properties: { state: { enum: ['a'] } } }, RunState: { type: 'object' } };
  const names = Object.entries(nested).flatMap(([name, schema]) => [name, ...listParts(name, schema)]);
  assert.deepEqual(findTwins(names), ['Run_state and RunState']);
});

test('no two operations have one name', () => {
  assert.deepEqual(findTwins(operations.map(({ operationId }) => operationId)), []);
});

test('no two models have one name, with those inside of others and of parameters', () => {
  const ofSchemas = Object.entries(schemas).flatMap(([name, schema]) => [name, ...listParts(name, schema)]);
  const ofParameters = operations.flatMap((operation) =>
    parametersOf(operation).flatMap(({ name, schema }) =>
      listModels(`${operation.operationId}_${name}`, schema),
    ),
  );
  assert.ok(ofSchemas.length > Object.keys(schemas).length && ofParameters.length > 0);
  assert.deepEqual(findTwins([...ofSchemas, ...ofParameters]), []);
});

test('no two members of an object have one name, nor two parameters of an operation', () => {
  for (const [name, schema] of Object.entries(schemas))
    for (const { properties = {} } of listSchemas(schema))
      assert.deepEqual(findTwins(Object.keys(properties), toSnakeCase), [], name);
  for (const operation of operations)
    assert.deepEqual(
      findTwins(
        parametersOf(operation).map((each) => each.name),
        toSnakeCase,
      ),
      [],
      operation.operationId,
    );
});
