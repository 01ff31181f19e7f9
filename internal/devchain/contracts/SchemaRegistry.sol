// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Development stand-in for the SchemaRegistry of the Ethereum Attestation Service: the same functions, events, errors and schema
/// uids, without resolvers. It is written for this project and is not for a chain that holds value.
contract SchemaRegistry {
    struct SchemaRecord {
        bytes32 uid;
        address resolver;
        bool revocable;
        string schema;
    }

    event Registered(bytes32 indexed uid, address indexed registerer, SchemaRecord schema);

    error AlreadyExists();

    string public constant version = "1.3.0";

    mapping(bytes32 => SchemaRecord) private records;

    function register(string calldata schema, address resolver, bool revocable) external returns (bytes32 uid) {
        uid = keccak256(abi.encodePacked(schema, resolver, revocable));
        if (records[uid].uid != 0) revert AlreadyExists();
        SchemaRecord memory made = SchemaRecord(uid, resolver, revocable, schema);
        records[uid] = made;
        emit Registered(uid, msg.sender, made);
    }

    /// The zero record for a schema that was never registered.
    function getSchema(bytes32 uid) external view returns (SchemaRecord memory) {
        return records[uid];
    }
}
