/** How schemas, and parameters that several operations have, become components. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { named } from '../named-schema.ts';
import { oneOf, oneOfAnyCase } from '../primitives.ts';
import { type Parameter, sharedParameters } from './parameters.ts';
import { schemaWriter } from './schemas.ts';

const City = named('TestCity', Type.Object({ name: Type.String() }, { description: 'A city' }));

test('a named schema is written once, and a copy can have its own description', () => {
  const schemas = schemaWriter();
  const written = schemas.write(
    Type.Object({ home: City, work: Type.Optional(City), next: { ...City, description: 'The next city' } }),
  );
  const $ref = '#/components/schemas/TestCity';
  assert.deepEqual(written.properties, {
    home: { $ref },
    work: { $ref },
    next: { $ref, description: 'The next city' },
  });
  assert.deepEqual(Object.keys(schemas.components()), ['TestCity']);
  assert.equal(schemas.components().TestCity?.description, 'A city');
});

test('a name has one schema', () => {
  assert.throws(() => named('TestCity', Type.String()), /Two schemas are named TestCity/);
  const changed = Type.Unsafe({ ...City, properties: {} });
  assert.throws(() => schemaWriter().write(changed), /TestCity differs in more than its description/);
  const schemas = schemaWriter();
  schemas.writeAs('Body', Type.Object({ one: Type.String() }));
  assert.throws(() => schemas.writeAs('Body', Type.Object({})), /named Body/);
});

test('alternatives that each have their own type get a discriminator', () => {
  const Car = named('TestCar', Type.Object({ type: oneOf(['CAR', 'TAXI']) }));
  const Bus = named('TestBus', Type.Object({ type: oneOf(['BUS']) }));
  const written = schemaWriter().write(Type.Union([Car, Bus]));
  assert.deepEqual(written.discriminator, {
    propertyName: 'type',
    mapping: {
      CAR: '#/components/schemas/TestCar',
      TAXI: '#/components/schemas/TestCar',
      BUS: '#/components/schemas/TestBus',
    },
  });
  assert.ok('anyOf' in schemaWriter().write(Type.Union([Car, City])));
});

test('alternatives with a type in any case get a discriminator, too', () => {
  const Ship = named('TestShip', Type.Object({ type: oneOfAnyCase(['cargo-ship']) }));
  const Boat = named('TestBoat', Type.Object({ type: oneOfAnyCase(['boat']) }));
  const written = schemaWriter().write(Type.Union([Ship, Boat]));
  assert.deepEqual(written.discriminator, {
    propertyName: 'type',
    mapping: { 'cargo-ship': '#/components/schemas/TestShip', boat: '#/components/schemas/TestBoat' },
  });
  const { pattern } = oneOfAnyCase(['cargo-ship']) as { pattern?: string };
  for (const word of ['cargo-ship', 'CARGO_SHIP', 'Cargo Ship'])
    assert.match(word, new RegExp(pattern ?? '', 'u'));
  assert.doesNotMatch('cargo-ships', new RegExp(pattern ?? '', 'u'));
});

test('a parameter that occurs twice is a component; a name in two places has the place in it', () => {
  const parameter = (name: string, place: Parameter['in'], example?: string): Parameter => ({
    ...{ name, in: place, required: true, schema: { type: 'string' } },
    ...(example === undefined ? {} : { example }),
  });
  const city = [parameter('city', 'path'), parameter('city', 'path', 'Oslo')];
  const page = [parameter('x-page', 'query'), parameter('x-page', 'query')];
  const cityQuery = [parameter('city', 'query'), parameter('city', 'query')];
  const single = parameter('single', 'query');
  const { components, write } = sharedParameters([...city, ...page, ...cityQuery, single]);
  assert.deepEqual(Object.keys(components), ['CityPathParameter', 'CityQueryParameter', 'XPageParameter']);
  assert.equal(components.CityPathParameter?.example, 'Oslo');
  assert.deepEqual(write(parameter('city', 'path', 'Bergen')), {
    $ref: '#/components/parameters/CityPathParameter',
  });
  assert.equal(write(single), single);
});
