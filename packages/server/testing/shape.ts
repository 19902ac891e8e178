/** Validators for values by schemas of the contract or the OpenAPI document. */
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

const formats = addFormats as unknown as (ajv: Ajv) => Ajv;
const options = { allErrors: true, strict: false } as const;
const ofAnswers = formats(new Ajv(options)).addFormat('id', true);
// UTC with milliseconds and Z.
ofAnswers.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ofRequests = formats(new Ajv(options)).addFormat('id', true);

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** Closes every object of the schema, so that unknown members are faults. */
function closeObjects(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closeObjects);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, member]) => [key, closeObjects(member)]));
  return 'properties' in copy ? { additionalProperties: false, ...copy } : copy;
}

function compileOnce(compile: (schema: Json) => ValidateFunction): (schema: object) => ValidateFunction {
  const compiled = new Map<object, ValidateFunction>();
  return (schema) => {
    const known = compiled.get(schema);
    if (known !== undefined) return known;
    const check = compile(JSON.parse(JSON.stringify(schema)) as Json);
    compiled.set(schema, check);
    return check;
  };
}

/** Validates a response body; unknown members are faults. */
export const answerShape = compileOnce((schema) => ofAnswers.compile(closeObjects(schema) as object));
/** Validates a request body; unknown members are ignored. */
export const requestShape = compileOnce((schema) => ofRequests.compile(schema as object));
