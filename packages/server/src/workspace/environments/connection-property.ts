/** Properties of connections in a request: each is a value or the location of a secret. Pure. */
import { type ConnectionPropertyMap, type PropertyOverride, secretProperties } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';

/**
 * Returns the properties to store. Throws `connection-properties` for a property with both a value and a
 * secret, and for a secret sent as a value; `field` is the path of the properties.
 */
export function readProperties(input: ConnectionPropertyMap, field: string): ConnectionPropertyMap {
  const known = Object.entries(input).map(([name, property]) => [
    name,
    readProperty(name, property, `${field}.${name}`),
  ]);
  return Object.fromEntries(known) as ConnectionPropertyMap;
}

function readProperty(name: string, property: PropertyOverride, field: string): PropertyOverride {
  if ('value' in property) {
    if ('secretName' in property)
      throw problem('connection-properties', {
        field,
        reason: 'has both `value` and `secretName`; send one',
      });
    if (secretProperties.includes(name)) {
      const reason = 'is a secret; send its location instead: {"secretName": "…", "secretKey": "…"}';
      throw problem('connection-properties', { field, reason });
    }
    return { value: property.value };
  }
  const { secretName, secretKey } = property;
  return secretKey === undefined ? { secretName } : { secretName, secretKey };
}
