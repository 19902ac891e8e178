/**
 * Ajv instances for requests. Bodies carry their own types; text in the URL and in headers is converted to
 * the declared type.
 */
import { Ajv, type AnySchema, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { isUuid } from '../identifiers.ts';

const options = { useDefaults: true, strict: false, strictNumbers: true, ownProperties: true } as const;

/**
 * Times: also refuses leap seconds, which JavaScript cannot represent. Ids: refuses a UUID in upper case, which would
 * be found by one statement and not by another.
 */
function addHeadgateFormats(ajv: Ajv): Ajv {
  (addFormats as unknown as (ajv: Ajv) => Ajv)(ajv);
  const { validate } = ajv.formats['date-time'] as { validate: (text: string) => boolean };
  return ajv
    .addFormat('date-time', (text: string) => validate(text) && !Number.isNaN(Date.parse(text)))
    .addFormat('uuid', isUuid)
    .addFormat('id', (text: string) => isUuid(text) || !isUuid(text.toLowerCase()));
}

/** Stops at the first fault; `findFaults` lists them. */
export const bodySchemas = addHeadgateFormats(new Ajv(options));
/** Continues after a fault, so that all text is converted to numbers and booleans. */
export const textSchemas = addHeadgateFormats(new Ajv({ ...options, allErrors: true, coerceTypes: 'array' }));

/**
 * Compiles a schema when it is first needed: compiling those of all operations takes a third of the time of a
 * start, and most operations are called later or never.
 */
export function compileOnUse(schemas: Ajv, schema: AnySchema): () => ValidateFunction {
  let compiled: ValidateFunction | undefined;
  return () => {
    compiled ??= schemas.compile(schema);
    return compiled;
  };
}

export function isFormat(format: string, text: string): boolean {
  const known = bodySchemas.formats[format];
  if (known instanceof RegExp) return known.test(text);
  if (typeof known === 'function') return known(text);
  if (typeof known === 'object' && typeof known.validate === 'function')
    return (known.validate as (text: string) => boolean)(text);
  throw new Error(`Unknown format ${format}.`);
}
