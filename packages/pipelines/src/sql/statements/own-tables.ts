/** Tables in which Headgate keeps what components remember. They hold no data of users, and lineage leaves them out. */
export const stageTable = 'headgate_stages';
export const loadedObjectsTable = 'headgate_loaded_objects';
export const externalTablesTable = 'headgate_external_tables';

const ownTables: readonly string[] = [stageTable, loadedObjectsTable, externalTablesTable];

export const isOwnTable = (name: string): boolean => ownTables.includes(name.toLowerCase());
