/**
 * What a program needs of the contract besides types, without a schema: `@headgate/contract/without-schemas`. An
 * agent that loaded all schemas would need some 25 MB more (docs/adr/0057).
 */
export * from './agent-protocol/canonical-manifest.ts';
export * from './agent-protocol/protocol-constants.ts';
export { escapedPattern } from './escaped-pattern.ts';
export * from './limits.ts';
export { nearestName } from './nearest-name.ts';
export * from './secret/sealed-constants.ts';
export * from './secret/sealed-header.ts';
export * from './secret-text.ts';
export { agentSettingNames, unknownSettings } from './setting-names.ts';
export { readSnowflakeName } from './snowflake-name.ts';
export * from './warehouse-table/table-name.ts';
