// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {SchemaRegistry} from "./SchemaRegistry.sol";

struct AttestationRequestData {
    address recipient;
    uint64 expirationTime;
    bool revocable;
    bytes32 refUID;
    bytes data;
    uint256 value;
}

struct AttestationRequest {
    bytes32 schema;
    AttestationRequestData data;
}

struct MultiAttestationRequest {
    bytes32 schema;
    AttestationRequestData[] data;
}

struct RevocationRequestData {
    bytes32 uid;
    uint256 value;
}

struct RevocationRequest {
    bytes32 schema;
    RevocationRequestData data;
}

struct Attestation {
    bytes32 uid;
    bytes32 schema;
    uint64 time;
    uint64 expirationTime;
    uint64 revocationTime;
    bytes32 refUID;
    address recipient;
    address attester;
    bool revocable;
    bytes data;
}

/// Development stand-in for the Ethereum Attestation Service: the functions that this project calls, with EAS's selectors, events,
/// errors and uids. It knows no resolvers, no delegated attestations and no payments. It is written for this project and is not for
/// a chain that holds value.
contract EAS {
    event Attested(address indexed recipient, address indexed attester, bytes32 uid, bytes32 indexed schemaUID);
    event Revoked(address indexed recipient, address indexed attester, bytes32 uid, bytes32 indexed schemaUID);
    event Timestamped(bytes32 indexed data, uint64 indexed timestamp);

    error AccessDenied();
    error AlreadyRevoked();
    error AlreadyTimestamped();
    error InvalidExpirationTime();
    error InvalidSchema();
    error Irrevocable();
    error NotFound();
    error NotPayable();
    /// The schema has a resolver, and this stand-in calls none.
    error ResolverUnsupported();

    string public constant version = "1.4.0";

    /// Slot 0, so that a genesis block can set it.
    SchemaRegistry private registry;
    mapping(bytes32 => Attestation) private attestations;
    mapping(bytes32 => uint64) private timestamps;

    constructor(SchemaRegistry schemas) {
        registry = schemas;
    }

    function getSchemaRegistry() external view returns (SchemaRegistry) {
        return registry;
    }

    function attest(AttestationRequest calldata request) external payable returns (bytes32) {
        if (msg.value != 0) revert NotPayable();
        return _attest(request.schema, request.data);
    }

    function multiAttest(MultiAttestationRequest[] calldata requests) external payable returns (bytes32[] memory uids) {
        if (msg.value != 0) revert NotPayable();
        uint256 count;
        for (uint256 i; i < requests.length; i++) count += requests[i].data.length;
        uids = new bytes32[](count);
        uint256 next;
        for (uint256 i; i < requests.length; i++) {
            for (uint256 k; k < requests[i].data.length; k++) uids[next++] = _attest(requests[i].schema, requests[i].data[k]);
        }
    }

    function revoke(RevocationRequest calldata request) external payable {
        if (msg.value != 0 || request.data.value != 0) revert NotPayable();
        Attestation storage a = attestations[request.data.uid];
        if (a.uid == 0) revert NotFound();
        if (a.schema != request.schema) revert InvalidSchema();
        if (a.attester != msg.sender) revert AccessDenied();
        if (!a.revocable) revert Irrevocable();
        if (a.revocationTime != 0) revert AlreadyRevoked();
        a.revocationTime = uint64(block.timestamp);
        emit Revoked(a.recipient, a.attester, a.uid, a.schema);
    }

    function timestamp(bytes32 data) external returns (uint64) {
        if (timestamps[data] != 0) revert AlreadyTimestamped();
        uint64 time = uint64(block.timestamp);
        timestamps[data] = time;
        emit Timestamped(data, time);
        return time;
    }

    /// The zero attestation for a uid that does not exist.
    function getAttestation(bytes32 uid) external view returns (Attestation memory) {
        return attestations[uid];
    }

    function isAttestationValid(bytes32 uid) public view returns (bool) {
        return attestations[uid].uid != 0;
    }

    function getTimestamp(bytes32 data) external view returns (uint64) {
        return timestamps[data];
    }

    function _attest(bytes32 schema, AttestationRequestData calldata data) private returns (bytes32 uid) {
        SchemaRegistry.SchemaRecord memory record = registry.getSchema(schema);
        if (record.uid == 0) revert InvalidSchema();
        if (record.resolver != address(0)) revert ResolverUnsupported();
        if (data.value != 0) revert NotPayable();
        if (data.expirationTime != 0 && data.expirationTime <= block.timestamp) revert InvalidExpirationTime();
        if (!record.revocable && data.revocable) revert Irrevocable();
        if (data.refUID != 0 && !isAttestationValid(data.refUID)) revert NotFound();

        // Two equal attestations in one block differ by a counter.
        uint64 time = uint64(block.timestamp);
        for (uint32 bump; ; bump++) {
            uid = keccak256(
                abi.encodePacked(
                    schema, data.recipient, msg.sender, time, data.expirationTime, data.revocable, data.refUID, data.data, bump
                )
            );
            if (attestations[uid].uid == 0) break;
        }
        attestations[uid] = Attestation({
            uid: uid,
            schema: schema,
            time: time,
            expirationTime: data.expirationTime,
            revocationTime: 0,
            refUID: data.refUID,
            recipient: data.recipient,
            attester: msg.sender,
            revocable: data.revocable,
            data: data.data
        });
        emit Attested(data.recipient, msg.sender, uid, schema);
    }
}
