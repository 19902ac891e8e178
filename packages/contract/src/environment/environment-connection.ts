/** What a request says of connections of an environment: shapes.md, Environments. */
import { type Static, Type } from 'typebox';
import { mapOf, Name } from '../primitives.ts';

export const environmentOverrideLimit = 100;

const PropertyOverride = Type.Union([
  Type.Object({ value: Type.Union([Type.String({ maxLength: 4_096 }), Type.Number(), Type.Boolean()]) }),
  Type.Object({
    secretName: Type.String({ minLength: 1, maxLength: 1_024 }),
    secretKey: Type.Optional(Type.String({ maxLength: 1_024 })),
  }),
]);
export type PropertyOverride = Static<typeof PropertyOverride>;

export const ConnectionPropertyMap = mapOf(PropertyOverride, {
  maxProperties: 50,
  description: 'By the property: a value, or where a secret is kept',
});
export type ConnectionPropertyMap = Static<typeof ConnectionPropertyMap>;

export const DefaultConnections = mapOf(mapOf(Name, { maxProperties: 10 }), {
  maxProperties: 10,
  description:
    '{"DWH": {"<provider>": "<connection>"}}: the data warehouse connections that the environment uses; the words in any case',
});
export type DefaultConnections = Static<typeof DefaultConnections>;

export const EnvironmentConnectionOverride = Type.Object({
  connectionName: Name,
  connectionProperties: ConnectionPropertyMap,
});
export type EnvironmentConnectionOverride = Static<typeof EnvironmentConnectionOverride>;
