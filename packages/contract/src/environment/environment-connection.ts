/** What a request says of connections of an environment. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { mapOf, Name } from '../primitives.ts';

export const environmentOverrideLimit = 100;

const PropertyOverride = named(
  'ConnectionPropertyValue',
  Type.Union([
    Type.Object({ value: Type.Union([Type.String({ maxLength: 4_096 }), Type.Number(), Type.Boolean()]) }),
    Type.Object({
      secretName: Type.String({ minLength: 1, maxLength: 1_024 }),
      secretKey: Type.Optional(Type.String({ maxLength: 1_024 })),
    }),
  ]),
);
export type PropertyOverride = Static<typeof PropertyOverride>;

export const ConnectionPropertyMap = named(
  'ConnectionPropertyValues',
  mapOf(PropertyOverride, {
    maxProperties: 50,
    description: 'By property name: a value, or a reference to a secret',
  }),
);
export type ConnectionPropertyMap = Static<typeof ConnectionPropertyMap>;

export const DefaultConnections = named(
  'DefaultConnections',
  mapOf(mapOf(Name, { maxProperties: 10 }), {
    maxProperties: 10,
    description:
      '{"DWH": {"<provider>": "<connection>"}}: the data warehouse connections that the environment uses. The keys are not case-sensitive',
  }),
);
export type DefaultConnections = Static<typeof DefaultConnections>;

export const EnvironmentConnectionOverride = named(
  'EnvironmentConnectionOverride',
  Type.Object({
    connectionName: Name,
    connectionProperties: ConnectionPropertyMap,
  }),
);
export type EnvironmentConnectionOverride = Static<typeof EnvironmentConnectionOverride>;
