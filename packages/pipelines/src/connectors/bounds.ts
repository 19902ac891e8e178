/** Limits of connector profiles and of the reading of an API. */

/** Endpoints of one profile. */
export const endpointLimit = 500;
/** Parameters of one kind of one endpoint, and authentication options of one endpoint. */
export const connectorParameterLimit = 200;
/** Characters of an endpoint's address. */
export const endpointUrlLimit = 8_192;
/** Characters of the names of profiles, endpoints and parameters. */
export const connectorNameLimit = 255;
/** Segments of a path in a response, and nesting of a schema. */
export const pathDepthLimit = 32;
/** Columns of a table that an endpoint fills. */
export const connectorColumnLimit = 1_000;
/** Findings of one profile. */
export const profileFindingLimit = 100;
/** Pages of one load. */
export const pageCountLimit = 100_000;
/** Characters of a token or URL of the next page in a response. */
export const pagePositionLimit = 8_192;
