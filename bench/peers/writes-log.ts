/** Whether a peer logs its requests, as its documentation shows; `--quiet-peers` takes that from all of them. */
export const writesLog = process.env.PEER_LOG !== 'off';
